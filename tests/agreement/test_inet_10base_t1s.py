"""Every number that INET's showcase of 10BASE-T1S publishes, with ten seeds.

Those of CSMA/CD by the standard, and again by the rules of INET's MAC.
"""

import json

from program import invoke

UNKNOWN_LOAD = {"vendor-plca", "vendor-csma"}
"""Statements of a vendor whose load is not known."""


def test_every_row_of_the_comparison_agrees(tmp_path):
    out = tmp_path / "run"
    done = invoke("study", "inet-10base-t1s", "--out", out, "--no-report")
    assert done.returncode == 0, done.stderr
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))["claims"]
    verdicts = {claim["id"]: claim["verdict"] for claim in claims}
    assert len(verdicts) == 31
    agreed = {id for id, verdict in verdicts.items() if verdict in ("met", "holds")}
    assert set(verdicts) - agreed == UNKNOWN_LOAD
