"""TCP of Linux over a slow link beside the simulated one: two cells of the table in
docs/reference/transfers.md, by `ethermeter measure`.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from program import invoke
from stalls import QuietWindow

AVAILABLE = (
    Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
)
TOLERATED_STALL_S = 0.1
"""A stall empties the queue and leaves the link idle: this much is one percent of what is measured.
"""


def measured(folder: Path, congestion: str, *, sack: bool, queue: int) -> dict[str, Any]:
    """Measure and simulate one cell, and return what came of both: rates by engine, and what agents
    told.
    """
    command = [
        "measure",
        "live/tcp/queues",
        "--on",
        "testbed,relay",
        "--no-report",
        "--out",
        str(folder),
    ]
    for setting in (
        f'vary."flows.bulk.transfer.tcp.congestion"=["{congestion}"]',
        f'vary."flows.bulk.transfer.tcp.sack"=[{str(sack).lower()}]',
        f'vary."network.switches.switch.queue"=[{queue}]',
        'phases.transmit="18 s"',
        'phases.measure="last 10 s"',
    ):
        command += ["--set", setting]
    done = invoke(*command)
    assert done.returncode == 0, done.stderr
    points = json.loads((folder / "estimates.json").read_text())["points"]
    rates_bps = {
        point["engine"]: float(point["estimates"]["data_rate"]["value"]) for point in points
    }
    (result,) = [json.loads(path.read_text()) for path in (folder / "live").glob("*/*.json")]
    return {"rates_bps": rates_bps, "flow": result["flows"]["bulk"], "switches": result["switches"]}


@pytest.mark.root
@pytest.mark.parametrize(
    ("congestion", "sack"), [pytest.param("reno", False, marks=pytest.mark.long), ("cubic", True)]
)
def test_a_bulk_transfer_of_linux_is_as_fast_as_the_simulated_one(
    tmp_path: Path, in_quiet_window: QuietWindow, *, congestion: str, sack: bool
) -> None:
    if congestion not in AVAILABLE:
        pytest.skip(
            "net.ipv4.tcp_available_congestion_control of this kernel has "
            f"{' '.join(AVAILABLE)}, not {congestion}"
        )
    folders = (tmp_path / str(number) for number in itertools.count())

    def measure() -> dict[str, float]:
        found = measured(next(folders), congestion, sack=sack, queue=30)
        # Laws, whatever the machine did: hosts used what the experiment names, and all that was
        # sent and read is one stream.
        sending, receiving = (found["flow"][side]["counted"] for side in ("sending", "receiving"))
        assert (sending["congestion"], sending["sack"], receiving["sack"]) == (
            congestion,
            sack,
            sack,
        )
        assert receiving["octets"] <= sending["octets"]
        # The queue was the bottleneck: its drops are what was sent again.
        assert sum(port["dropped"]["queue"] for port in found["switches"]) > 0
        return dict(found["rates_bps"])

    rates_bps = in_quiet_window(measure, tolerated_stall_s=TOLERATED_STALL_S)
    assert rates_bps["simulation"] == pytest.approx(rates_bps["live"], rel=0.05)
    assert rates_bps["live"] < 1e7 * 1448 / 1538 * 1.01
