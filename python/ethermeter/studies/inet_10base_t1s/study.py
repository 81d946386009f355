"""The study inet-10base-t1s: what is run, how it is judged and shown."""

from ethermeter.metrics import Metric
from ethermeter.presentation import Presentation
from ethermeter.studies.definition import Study
from ethermeter.studies.inet_10base_t1s import claims

STUDY = Study(
    package=__package__,
    experiments=(
        *("idle", "load-30", "load-50", "load-70", "load-85"),
        *("nodes-16", "nodes-40", "saturated"),
        *("load-30-inet", "load-50-inet", "load-70-inet", "load-85-inet", "saturated-inet"),
    ),
    rules=claims.RULES,
    presentation=Presentation(
        title="10BASE-T1S multidrop Ethernet with PLCA (INET’s showcase, 2026), simulated anew",
        question=("What does PLCA change on a 10BASE-T1S bus, compared with CSMA/CD?"),
        lead=(
            "The showcase compares PLCA with CSMA/CD on one bus, by another simulator, whose MAC"
            " differs from clause 4 of the standard in jam and gaps: with CSMA/CD each"
            " number is judged by the standard, and again by the rules of that MAC. Largest values"
            " depend on the seed and on the window of 2 s: such a claim <em>holds</em> where the"
            " range of ten seeds here overlaps the published range. A number is <em>met</em> within"
            " the rounding of its digits, or within 3%."
        ),
        graphs=(
            Metric.ATTEMPT_DELAY_MAX,
            Metric.ATTEMPT_DELAY,
            Metric.CYCLE_TIME_MAX,
            Metric.GOODPUT,
            Metric.LOSS,
        ),
        has_details=False,
    ),
    quick_replications=3,
)
