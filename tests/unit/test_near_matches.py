"""Names that are nearly right: what was meant is said wherever a name is looked up."""

from ethermeter.faults import choices
from program import invoke


def test_the_run_beside_is_named(tmp_path):
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "plan.jsonl").write_text("")
    ended = invoke("report", "runs/frst", cwd=tmp_path)
    assert ended.returncode == 2
    assert "did you mean runs/first? A run directory has a plan.jsonl" in ended.stderr


def test_of_very_many_names_the_near_ones_stand_for_the_list():
    names = [f"host{number}" for number in range(1000)]
    assert len(choices("hst17", names)) < 80
    assert choices("hst17", names).startswith("did you mean host17")
    assert choices("router", names).endswith("host29 and 970 more")


def test_without_names_none_is_offered():
    assert choices("x", []) == "one of none: there are none"
