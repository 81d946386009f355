"""Names that are nearly right: what was meant is said wherever a name is looked up."""

import pytest
from ethermeter.faults import choices
from program import invoke, settings

OFFICE = ("run", "office", "--no-report")
VALUE = ("--from", "1", "--to", "8", "--no-report")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("rum",), "Did you mean 'run'?"),
        (("theory", "evl"), "Did you mean 'eval'?"),
        (("run", "office", "--replicaton", "3"), "--replications"),
        (("run", "poison-load"), "did you mean poisson-load?"),
        (("run", "Poisson-Load"), "did you mean poisson-load?"),
        (("experiments", "--show", "ofice"), "did you mean office?"),
        (("reproduce", "bogs1988"), "did you mean boggs1988?"),
        (("measure", "--study", "bogs1988", "--loopback"), "did you mean boggs1988?"),
        (("measure", "--to", "127.0.0.1", "--by", "iperf"), "did you mean iperf3?"),
        (("benchmark", "rfc254"), "did you mean rfc2544?"),
        (("benchmark", "rfc2544", "--testers", "testr1,tester2"), "did you mean tester1?"),
        (("bottleneck", "receiver-windw", "--testbed"), "did you mean receiver-window?"),
        (("calls", "--segment", "iee-10"), "did you mean ieee-10"),
        (("theory", "show", "lam-198"), "did you mean lam-1980?"),
        (("theory", "eval", "lam-1980", "arival_rate=1"), "did you mean arrival_rate?"),
        (("voice", "codecs", "G711"), "did you mean g711?"),
        ((*OFFICE, *settings("network.hosts.phne.count=3")), "did you mean phone?"),
        ((*OFFICE, *settings("flows.cal.frames=64 B")), "did you mean call?"),
        ((*OFFICE, *settings("flows.call.frmes=64 B")), "did you mean frames?"),
        ((*OFFICE, *settings("netwrk.rate=1 Gb/s")), "did you mean network?"),
        ((*OFFICE, *settings("flows.call.from=phne")), "did you mean phone?"),
        ((*OFFICE, *settings('network.links.0.ends=["phone", "flor"]')), "did you mean floor?"),
        ((*OFFICE, *settings("network.switches.floor.model=acenic")), "did you mean acenic-pc?"),
        (
            ("search", "office", "--largest", "network.clases", *VALUE, "--while", "loss <= 1%"),
            "did you mean network.classes",
        ),
        (
            ("search", "office", "--largest", "network.classes", *VALUE, "--while", "los <= 1%"),
            "did you mean loss?",
        ),
        (
            (
                *("search", "office", "--smallest", "network.switches.floor.queue", *VALUE),
                *("--set", "network.classes=1", "--while", "cal: loss <= 1%"),
            ),
            "did you mean call?",
        ),
    ],
)
def test_what_was_meant_is_said(words, meant, tmp_path):
    ended = invoke(*words, cwd=tmp_path)
    assert ended.returncode == 2
    assert meant in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


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
