"""What switches of a testbed drop during a measurement: counted at the port, and missed by whose
messages passed there.
"""

import json
from typing import Any

import ethermeter as em
import pytest
from live_runs import measure
from shared_experiments import star

# What makes no difference here is how many a host can offer: half of a wire is always there.
CROSSED = star(
    [em.host("sender", count=2), "sink", "other"],
    [
        em.flow("load", "sender", "sink", data="1000 B", arrivals={"poisson": "900 /s"}),
        em.flow("aside", "sink", "other", data="100 B", arrivals={"poisson": "100 /s"}),
    ],
    switch={"queue_size": "10 kB"},
    phases={"settle": "1.5 s", "transmit": "1 s", "measure": "last 0.8 s"},
    run={"engines": ["live"], "replications": 2},
)


def missing(result: dict[str, Any], flow: str) -> int:
    return int(result["flows"][flow]["losses"]["missing"])


@pytest.mark.root
@pytest.mark.parametrize("wires", ["shaped", "relay"])
def test_what_two_senders_miss_was_dropped_at_the_port_towards_the_sink(
    tmp_path, wires, unless_held_up
):
    # Two times 900 datagrams of 1066 octets with all around them are 15.4 Mb/s for a wire of 10.
    measured = measure(CROSSED, tmp_path, "--on", f"testbed,{wires}", "--json")
    results = measured.results()
    assert len(results) == 2
    for result in results:
        dropped = {row["towards"]: row["dropped"] for row in result["switches"]}
        assert set(dropped) == {"sender1", "sender2", "sink", "other"}
        # A third of what is sent finds no room; a host that offers less of it in time is no matter.
        unless_held_up(dropped["sink"]["queue"] > 100, dropped)
        assert dropped["sink"]["queue"] == missing(result, "load sender1") + missing(
            result, "load sender2"
        )
        for flow in ("load sender1", "load sender2"):
            losses = result["flows"][flow]["losses"]
            assert losses["unexplained"] == 0
            assert losses["between"] == [
                {
                    "place": "switch",
                    "at": "s",
                    "towards": "sink",
                    "dropped": dropped["sink"]["queue"],
                }
            ]
            assert ["switch", dropped["sink"]["queue"]] in losses["seen"]
        assert missing(result, "aside") == 0
        assert ("wires" in result) == (wires == "relay")
        if wires == "relay":
            ways = {(row["from"], row["towards"]): row["dropped"] for row in result["wires"]}
            assert len(ways) == 2 * 4
            assert sum(sum(counts.values()) for counts in ways.values()) == 0
    # In the first trial copies went everywhere until the sink had sent something, and other ports
    # may have dropped some.
    last = results[-1]
    assert all(
        row["dropped"] == {"queue": 0, "interface": 0}
        for row in last["switches"]
        if row["towards"] != "sink"
    )
    # It begins where the others end, and leaves by another port.
    assert "between" not in last["flows"]["aside"]["losses"]
    for trial in json.loads(measured.printed.stdout)["live_accounts"]["trials"]:
        (port,) = [port for port in trial["drops"] if port["towards"] == "sink"]
        assert (port["place"], port["at"]) == ("switch", "s")
        assert port["dropped"] == {"queue": port["missing"]}
        assert all(loss["at_switches"] == loss["missing"] for loss in trial["losses"])
    page = (measured.run / "report.html").read_text(encoding="utf-8")
    assert "Where frames were dropped between hosts" in page


@pytest.mark.root
def test_a_quiet_switch_drops_nothing(tmp_path):
    quiet = CROSSED.changed({"flows.0.arrivals.poisson": "20 /s"})
    measured = measure(quiet, tmp_path, "--on", "testbed", "--json")
    for result in measured.results():
        assert all(row["dropped"] == {"queue": 0, "interface": 0} for row in result["switches"])
        assert all(
            flow["losses"] == {"missing": 0, "seen": [], "unexplained": 0, "excess": 0}
            for flow in result["flows"].values()
        )
    said = json.loads(measured.printed.stdout)
    assert [trial["drops"] for trial in said["live_accounts"]["trials"]] == [[], []]
