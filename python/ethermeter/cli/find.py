"""The commands that find limits."""

from ethermeter.cli.help import Entry, Group

GROUP = Group(
    "find",
    "Find limits: largest values, calls and rates, and the stage that is one.",
    {
        "Of experiments": {
            "value": Entry(
                "Find the largest or smallest value with which conditions hold.", "find_value"
            ),
            "calls": Entry("Find how many calls fit with a given quality.", "find_calls"),
        },
        "Of devices and hosts": {
            "benchmark": Entry(
                "Run a suite: RFC 2544, 2889, 3918, 6349, Y.1564.", "find_benchmark"
            ),
            "bottleneck": Entry("Find which stage limits a transfer.", "find_bottleneck"),
            "ceilings": Entry("Measure what each stage of this host can do.", "find_ceilings"),
        },
    },
    examples="  ethermeter find value buffer-sizing --smallest network.switches.switch.queue "
    "from=1 to=40 --while 'loss == 0'\n"
    "  ethermeter find calls codec=g711 mos=4.0\n"
    "  ethermeter find benchmark rfc2544\n"
    "  ethermeter find bottleneck wire --on testbed\n"
    "  ethermeter find ceilings quick=yes",
)
