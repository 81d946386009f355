"""The study hughesjones2000: what is run, how it is judged and shown."""

from ethermeter.presentation import Presentation
from ethermeter.studies.definition import Study
from ethermeter.studies.hughesjones2000 import claims, sections

STUDY = Study(
    package=__package__,
    experiments=(
        "gigabit-latency",
        "fast-latency",
        "mixed-latency",
        "background",
        "streaming",
        "streaming-long",
        "streaming-fast",
        "spacing-512",
        "spacing-1024",
        "spacing-1500",
        "two-pairs",
        "several-senders",
        "many-to-one",
        "many-to-one-long",
        "unlearned",
        "broadcast-direct",
        "broadcast-two-ports",
        "broadcast-batm",
        "broadcast-ping-pong",
        "multicast-request",
        "reverse",
        "direct-tail",
        "clocks",
    ),
    rules=claims.RULES,
    presentation=Presentation(
        title=(
            "Raw Ethernet frames through gigabit and 100 Mb/s components (Hughes-Jones and Saka,"
            " 2000), simulated"
        ),
        question=(
            "What latency and what rate do raw Ethernet frames have through the switches "
            "and interfaces of the year 2000, and where are frames lost?"
        ),
        lead=(
            "A number is <em>met</em> within 8% where it is predicted, within 3% where a parameter"
            " was fitted to it, or within what its rounding leaves open (the green band); a"
            " statement <em>holds</em> by the rule under its note, which is ours. <em>Fitted</em>"
            " are times of the PCs on direct paths and of each switch alone; two switches, mixed"
            " speeds, groups and many senders are predicted. A frame has 18 octets more than its"
            " user data. What has no chance in it is run once and has no interval."
        ),
        omitted=(
            "streaming",
            "streaming-long",
            "streaming-fast",
            "spacing-512",
            "spacing-1024",
            "spacing-1500",
            "broadcast-direct",
            "broadcast-two-ports",
            "broadcast-batm",
            "multicast-request",
            "broadcast-ping-pong",
            "clocks",
            "direct-tail",
            "reverse",
            "many-to-one-long",
        ),
    ),
    sections=sections.build,
    # A quick run is the whole study, each point once: it is short, and most of it is not random.
)
