"""A search whose values are measured on a testbed."""

import json
from pathlib import Path

import ethermeter as em
import pytest
from program import call, real
from shared_experiments import behind
from stalls import NewPath, QuietWindow, inconclusive

pytestmark = [pytest.mark.root, pytest.mark.long]

WIRE = behind(
    20,
    em.flow(
        "load", "sender", "sink", frames="512 B", port="packet", arrivals={"regular": "500 us"}
    ),
    phases={"settle": "100 ms", "transmit": "1 s", "measure": "last 900 ms"},
    search={
        "smallest": "flows.load.arrivals.regular",
        "from": "420 us",
        "to": "430 us",
        "step": "10 us",
        "while": ["loss <= 0.1%"],
    },
)
FRAME_US = (512 + 20) * 8 / 10
"""Time of a frame with preamble and gap on the wire: 425.6 us, so that 430 us is the answer. At
420 us, 31 frames more than the wire carries come in 1 s: the queue has room for 20.
"""
STALL_S = 0.1
"""All stalls of a search. A sender that is late by 15 ms sends 35 frames at twice the rate of the
wire, of which 17 wait; a trial with a longer stall does not decide alone.
"""


def test_the_shortest_period_that_a_wire_carries_is_found(
    new_path: NewPath, in_quiet_window: QuietWindow
) -> None:
    def found() -> tuple[dict, Path]:
        folder = new_path()
        words = ["--on", "testbed", "--set", "search.replications=16"]
        words += ["--out", folder / "run", "--json"]
        done = call(real("find", "value", WIRE.save(folder / "wire.toml"), *words))
        assert done.returncode in {0, 1}, done.stderr
        return json.loads(done.stdout), folder / "run"

    answer, run = in_quiet_window(found, tolerated_stall_s=STALL_S)
    if answer["outcome"] == "undecided":
        inconclusive(answer["sentence"])
    assert answer["estimate"] == "430 us"
    for point in answer["points"]:
        assert (point["verdict"] == "holds") == (point["number"] > FRAME_US)
    assert len(list((run / "live").glob("*/*.json"))) == sum(
        point["replications"] for point in answer["points"]
    )
