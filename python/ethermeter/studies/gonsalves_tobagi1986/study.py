"""The study gonsalves-tobagi1986: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.results.estimates import ENOUGH_REPLICATIONS
from ethermeter.studies.definition import Study
from ethermeter.studies.gonsalves_tobagi1986 import claims

STUDY = Study(
    package=__package__,
    experiments=(
        "equal-load",
        "equal",
        "unequal-load",
        "unequal",
        "isolated",
        "hosts",
        "buffers",
        "backoff",
    ),
    rules=claims.RULES,
    least=ENOUGH_REPLICATIONS,
    presentation=Presentation(
        title="Station location on an Ethernet (Gonsalves and Tobagi, 1986), simulated anew",
        question=(
            "Does the position of a station on an Ethernet change its throughput and its delay?"
        ),
        lead=(
            "The paper is not at hand: its findings are known as statements, from its abstract and"
            " from section 2.4.7 of Boggs, Mogul and Kent (1988), without a number. Its cable,"
            " stations, frames, sources, buffers and modified backoff are assumed here, as the"
            " parameters below say, and nothing is fitted. A statement <em>holds</em> by the rule"
            " under its note, which is ours; it <em>fails</em> if one point that the rule asks for"
            " does not bear it out. <em>References</em> are not the paper’s: they are single runs"
            " of 20 s of an earlier simulation of ours, met within 3%, within their spread, or"
            " where 95% of single runs lie."
        ),
        graphs=(Metric.UTILISATION, Metric.TRANSMISSION_DELAY, Metric.RESPONSE_TIME, Metric.LOSS),
        compared=(Metric.UTILISATION,),
        has_details=False,
    ),
    # Its claims are differences between replications, of which there must be three or more.
    quick=("phases.transmit='2.1 s'", "phases.measure='last 2 s'"),
    quick_replications=5,
    has_positions=True,
)
