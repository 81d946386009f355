"""Studies: how a published study's run is presented."""

from dataclasses import dataclass

from ethermeter.metrics import Metric
from ethermeter.report.labels import FLOW_MAIN_METRICS, MAIN_METRICS, STUDY_GRAPHS


@dataclass(frozen=True, slots=True)
class Study:
    """Title of the page, what its claims are read by (HTML), and the graphs of a series.

    `against_hosts` if its figures are against the number of hosts, and a series that is not stands
    apart; `compared` are the graphs of a series whose stations are shown along the cable. Without
    `has_details`, what the study is not about, distributions of delay and channel time, is left to
    the table of estimates; with `detailed`, only these series have them. `drawn` series are in
    figures of the study's own and have but their table here, `drawn_whole` ones not even that.
    """

    title: str
    lead: str
    graphs: tuple[Metric, ...]
    against_hosts: bool
    compared: tuple[Metric, ...] = MAIN_METRICS
    has_details: bool = True
    detailed: tuple[str, ...] | None = None
    drawn: tuple[str, ...] = ()
    drawn_whole: tuple[str, ...] = ()

    @property
    def published(self) -> str:
        """What was published and by whom: the title but for its last part, which says how it is
        answered.
        """
        return self.title.rpartition(",")[0] or self.title


OTHER = Study("", "", MAIN_METRICS, against_hosts=False)
"""A run that reproduces no study."""
STUDIES = {
    "boggs1988": Study(
        "Measured Capacity of an Ethernet (Boggs, Mogul and Kent, 1988), re-measured",
        "A number is <em>met</em> within 3% or within what the text’s rounding leaves open (the green band); a statement "
        "<em>holds</em> by the rule under its note. Two numbers are differences of two single runs of 10 s, which chance moves by "
        "more than their rounding: they are met also where 95% of such differences lie (the note has the interval). "
        "<em>Fitted</em> numbers set the hosts’ service time; everything else is predicted.",
        STUDY_GRAPHS,
        against_hosts=True,
    ),
    "gonsalves-tobagi1986": Study(
        "Station location on an Ethernet (Gonsalves and Tobagi, 1986), simulated anew",
        "The paper is not at hand: its findings are known as statements, from its abstract and from section 2.4.7 of Boggs, Mogul and "
        "Kent (1988), without a number. Its cable, stations, frames, sources, buffers and modified backoff are assumed here, as the "
        "parameters below say, and nothing is fitted. A statement <em>holds</em> by the rule under its note, which is ours; it "
        "<em>fails</em> if one point that the rule asks for does not bear it out. <em>References</em> are not the paper’s: they are single "
        "runs of 20 s of an earlier simulation of ours, met within 3%, within their spread, or where 95% of single runs lie.",
        (Metric.UTILISATION, Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME, Metric.LOSS),
        against_hosts=False,
        compared=(Metric.UTILISATION,),
        has_details=False,
    ),
    "gonsalves1982": Study(
        "Packet voice on the experimental Ethernet (Gonsalves, 1982), re-simulated",
        "A number is <em>met</em> within 1 host, 3 points of throughput, 10% of a delay, 0.4 ms of a shortest delay, 3% of anything "
        "else, or within what the text’s rounding leaves open (the green band); a statement <em>holds</em> by the rule under its note, "
        "which is ours. <em>Fitted</em> are two times of a host, the deaf and the arming time, on tables 4.1a and 4.1b only; everything "
        "else is predicted. D is the mean delay over samples, from the making of the oldest sample in their packet to the packet’s end: "
        "the study says over packets, but its delays at losses of 1 and 5% can only be that. T is the share of the capacity that "
        "delivered packets take, without 6 bytes of header and checksum each; in table 4.2 with them. L is the share of samples lost.",
        (
            Metric.SAMPLE_DELAY,
            Metric.SAMPLE_DELAY_P99,
            Metric.SAMPLE_LOSS,
            Metric.VOICE_UTILISATION,
            Metric.GOODPUT,
        ),
        against_hosts=False,
        detailed=("conversations",),
        drawn=("minimum", "maximum", "rate-70", "rate-84"),
        drawn_whole=tuple(
            f"sensitivity-{name}" for name in ("deaf", "arming", "clock-error", "register")
        ),
    ),
    "fritz1999": Study(
        "Gigabit choke points (Fritz, 1999), simulated",
        "On Fast Ethernet one host time of each pair is <em>fitted</em>, so that these numbers say nothing; everything else is "
        "predicted. A number on Gigabit Ethernet is <em>met</em> within 15%, which was set before anything was simulated; a statement "
        "<em>holds</em> by the rule under its note, which is ours. The article does not describe its computers: what stack and bus cost is "
        "what others measured on computers of the time, as the parameters below say. There is no chance in these simulations, and so no "
        "interval.",
        (Metric.TRANSFER_RATE, Metric.ACKNOWLEDGEMENT_DELAY),
        against_hosts=False,
        has_details=False,
        drawn_whole=("copies", "remedies", "jumbo", "window", "memory", "ahead"),
    ),
    "myths": Study(
        "Myths about the Ethernet, and what theory and segment say",
        "What sections 2.4 and 2.5 of Boggs, Mogul and Kent (1988) say about the theories, held against the theories themselves and "
        "against simulations. A number is <em>met</em> within 3% or within what the text’s rounding leaves open; a statement "
        "<em>holds</em> by the rule under its note, which is ours. A formula’s value has no interval. Most of the original papers are not "
        "at hand: their models are reconstructions, and a miss may be the reconstruction’s. Limits that the text leaves open were set in "
        "sight of first trial runs. <em>References</em> are not the text’s: they are about a variant of a model that we made to see where "
        "two peaks could come from.",
        (
            Metric.UTILISATION,
            Metric.RESPONSE_TIME,
            Metric.TRANSMISSION_DELAY,
            Metric.COLLISIONS_PER_FRAME,
            Metric.OFFERED_LOAD_Q,
        ),
        against_hosts=False,
        has_details=False,
    ),
    "erg": Study(
        "LAN tests with a UDP generator and sink (ERG, University of Aberdeen), simulated",
        "A number is <em>met</em> within 8% where it is predicted, within 3% where a parameter was fitted to it, or within what its "
        "rounding leaves open (the green band); a statement <em>holds</em> by the rule under its note, which is ours. <em>Fitted</em> are "
        "three times for a fragment, each to one number: of the Sparc, of the Ultra 1, and of the router. Rates are data of UDP datagrams "
        "that came whole. What is offered, 10 Mb/s, is taken to be bits on the wire.",
        FLOW_MAIN_METRICS,
        against_hosts=False,
        drawn_whole=("capture", "host-time", "router"),
    ),
    "hughesjones2000": Study(
        "Raw Ethernet frames through gigabit and 100 Mb/s components (Hughes-Jones and Saka, 2000), simulated",
        "A number is <em>met</em> within 8% where it is predicted, within 3% where a parameter was fitted to it, or within what its "
        "rounding leaves open (the green band); a statement <em>holds</em> by the rule under its note, which is ours. <em>Fitted</em> are "
        "times of the PCs on direct paths and of each switch alone; two switches, mixed speeds, groups and many senders are predicted. "
        "A frame has 18 octets more than its user data. What has no chance in it is run once and has no interval.",
        FLOW_MAIN_METRICS,
        against_hosts=False,
        drawn_whole=(
            *(
                "streaming",
                "streaming-long",
                "streaming-fast",
                "spacing-512",
                "spacing-1024",
                "spacing-1500",
            ),
            *(
                "broadcast-direct",
                "broadcast-batm",
                "multicast-request",
                "multicast-request-long",
                "many-to-one-long",
            ),
        ),
    ),
}
"""How a study is presented, by its name in `claims.json`."""
