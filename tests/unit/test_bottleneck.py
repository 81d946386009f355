"""Bottlenecks: the verdict on samples of known cause, what is changed of a transfer, its file, and
what the command refuses.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from documents import page
from ethermeter.analysis.bottleneck import STAGES
from ethermeter.bottleneck import judge, load, transfers
from ethermeter.bottleneck.interventions import interventions
from ethermeter.bottleneck.quota import period_s
from ethermeter.bottleneck.setup import LONGEST_SEGMENT_OCTETS
from ethermeter.bottleneck.trials import base_trial
from ethermeter.bottleneck.verdict import ERROR, Tried
from ethermeter.faults import InputError
from numpy.typing import NDArray
from program import invoke

Floats = NDArray[np.float64]


def noisy(
    rate: float, random: np.random.Generator, *, rounds: int = 5, spread: float = 0.02
) -> Floats:
    return rate * np.exp(spread * random.standard_normal(rounds))


def slowest_of(**ceilings: float) -> float:
    """Return the throughput of stages that work at the same time."""
    return min(ceilings.values())


def one_after_the_other(**ceilings: float) -> float:
    """Return the throughput of stages that take their times in turn."""
    return 1 / sum(1 / rate for rate in ceilings.values())


def test_of_stages_at_the_same_time_the_slowest_is_named():
    random = np.random.default_rng(1)
    stages = {"source": 40e6, "wire": 20e6, "window": 60e6}
    tried = [
        Tried(name, 2, noisy(slowest_of(**{**stages, name: 2 * rate}), random))
        for name, rate in stages.items()
    ]
    found = judge(noisy(20e6, random), tried)
    assert found.bottleneck == "wire"
    assert {each.stage: round(each.interval.value) for each in found.responses} == {
        "source": 0,
        "wire": 1,
        "window": 0,
    }


def test_of_stages_in_turn_each_response_is_about_its_share_of_the_time():
    random = np.random.default_rng(2)
    stages = {"turn-around": 10e6, "wire": 90e6}
    tried = [
        Tried(
            name, 1.1, noisy(one_after_the_other(**{**stages, name: 1.1 * rate}), random, spread=0)
        )
        for name, rate in stages.items()
    ]
    found = judge(noisy(9e6, random, spread=0), tried)
    assert found.bottleneck == "turn-around"
    # Shares are 0.9 and 0.1; a change by a tenth moves the share itself by less than a tenth.
    assert [each.interval.value for each in found.responses] == pytest.approx([0.9, 0.1], rel=0.1)


def test_two_stages_that_hold_it_back_alike_are_not_told_apart():
    random = np.random.default_rng(3)
    stages = {"turn-around": 20e6, "wire": 20e6}
    tried = [
        Tried(name, 2, noisy(one_after_the_other(**{**stages, name: 2 * rate}), random))
        for name, rate in stages.items()
    ]
    found = judge(noisy(10e6, random), tried)
    assert found.bottleneck is None
    assert "cannot be distinguished" in found.why


def test_more_connections_are_evidence_and_never_the_bottleneck():
    random = np.random.default_rng(4)
    tried = [
        Tried("wire", 2, noisy(1e7, random)),
        Tried("connections", 2, noisy(2e7, random), is_evidence_only=True),
    ]
    found = judge(noisy(1e7, random), tried)
    assert found.bottleneck is None
    assert found.why == "nothing that was changed moves the throughput"


def test_a_stage_that_could_only_be_tightened_is_named_if_it_alone_is_followed():
    random = np.random.default_rng(5)
    wire = Tried("wire", 2, noisy(1e7, random))
    sender, receiver = (
        Tried(name, 0.5, noisy(rate, random))
        for name, rate in (("sender-processor", 0.5e7), ("receiver-processor", 1e7))
    )
    assert judge(noisy(1e7, random), [wire, sender, receiver]).bottleneck == "sender-processor"
    half = Tried("receiver-processor", 0.5, noisy(0.5e7, random))
    both = judge(noisy(1e7, random), [wire, sender, half])
    assert both.bottleneck is None
    assert "each of" in both.why


def test_a_tightened_stage_that_costs_a_little_has_only_a_small_margin_and_is_not_named():
    random = np.random.default_rng(6)
    found = judge(
        noisy(1e7, random),
        [Tried("frames", 0.5, noisy(0.9e7, random)), Tried("wire", 2, noisy(1e7, random))],
    )
    assert found.bottleneck is None


def test_noise_makes_it_undecided():
    random = np.random.default_rng(7)
    found = judge(
        noisy(1e7, random, spread=1),
        [
            Tried("wire", 2, noisy(2e7, random, spread=1)),
            Tried("queue", 2, noisy(1e7, random, spread=1)),
        ],
    )
    assert found.bottleneck is None
    assert "too uncertain" in found.why


def test_a_transfer_in_which_nothing_came_is_no_number_that_breaks_the_verdict():
    found = judge(np.array([1e7, 0.0, 1e7]), [Tried("wire", 2, np.array([2e7, 2e7, 0.0]))])
    assert found.bottleneck is None
    assert all(
        math.isfinite(end)
        for each in found.responses
        for end in (each.interval.low, each.interval.high)
    )


def test_where_no_stage_matters_one_is_named_no_more_often_than_the_stated_error():
    random = np.random.default_rng(8)
    trials = 2000
    wrong = 0
    for _ in range(trials):
        # A common disturbance of each round falls out, whatever its size.
        common = np.exp(0.2 * random.standard_normal(5))
        tried = [
            Tried(f"stage {at}", 2, common * noisy(1e7, random, spread=0.3)) for at in range(6)
        ]
        wrong += judge(common * noisy(1e7, random, spread=0.3), tried).bottleneck is not None
    # Even if the true rate were the stated one, more than 4.9 standard deviations above it have a
    # probability below 1e-6.
    assert wrong <= trials * ERROR + 4.9 * math.sqrt(trials * ERROR * (1 - ERROR))


@pytest.mark.parametrize(("base", "samples"), [(np.ones(2), np.ones(2)), (np.ones(3), np.ones(4))])
def test_rounds_that_are_too_few_or_do_not_fit_are_refused(base, samples):
    with pytest.raises(ValueError, match="must"):
        judge(base, [Tried("wire", 2, samples)])


@pytest.mark.parametrize("name", list(transfers()))
def test_every_shipped_transfer_has_its_planted_stage_relieved_and_says_of_each_stage_what_is_done(
    name,
):
    document = load(name)
    changes, missing = interventions(document.setup())
    ways = {change.stage: change for change in changes}
    assert document.planted in STAGES
    assert ways[document.planted or ""].is_relief
    assert {*ways, *(each.stage for each in missing)} == {*STAGES, "connections"}
    assert all(each.why for each in missing)


@pytest.mark.parametrize(
    ("wire_bps", "text"),
    [
        (12, "12 bit/s to 24 bit/s"),
        (5_000, "5 kb/s to 10 kb/s"),
        (9_567_000, "9.57 Mb/s to 19.1 Mb/s"),
        (499_800_000, "500 Mb/s to 1000 Mb/s"),
        (5_000_000_000, "5 Gb/s to 10 Gb/s"),
    ],
)
def test_rates_are_written_to_three_digits(wire_bps, text):
    setup = replace(load("wire").setup(), wire_bps=wire_bps, sender_wire_bps=None)
    changes, _ = interventions(setup)
    assert [change.what for change in changes if change.stage == "wire"] == [text]


def test_an_intervention_changes_nothing_but_its_stage(tmp_path):
    setup = load("receiver-window").setup()
    changes, _ = interventions(setup)
    for change in changes:
        differing = {
            name for name in setup.__slots__ if getattr(setup, name) != getattr(change.setup, name)
        }
        allowed = {
            "window": {"receive_octets"},
            "frames": {"segment_octets"},
            "queue": {"queue_octets", "room_frames"},
            "wire": {"wire_bps"},
            "sender-processor": {"sender"},
            "receiver-processor": {"receiver"},
            "connections": {"connections"},
        }
        assert differing == allowed[change.stage]


def test_a_segment_is_lengthened_no_further_than_the_packet_has_room(tmp_path):
    file = tmp_path / "t.toml"
    file.write_text('title = "t"\n[transfer]\nduration = "1 s"\nsegment = "1000 B"\n')
    change = next(
        change for change in interventions(load(str(file)).setup())[0] if change.stage == "frames"
    )
    assert change.setup.segment_octets == LONGEST_SEGMENT_OCTETS
    assert change.factor == pytest.approx(1.46)


def test_small_shares_of_a_processor_have_longer_periods_so_that_the_kernel_can_give_them():
    assert [period_s(share) for share in (1.0, 0.1, 0.01)] == pytest.approx([0.01, 0.01, 0.1])


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('[transfer]\nduration = "1 s"', "title", "required: what it is"),
        ('title = "t"', "transfer", "required"),
        ('title = "t"\n[transfer]', "transfer", "one of duration and size"),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nsize = "1 MB"',
            "transfer",
            "one of duration and size",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nspeed = 1',
            "transfer.speed",
            "unknown key; allowed: duration, size",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\n[wire]\ncolour = 1',
            "wire.colour",
            "unknown key; allowed: rate",
        ),
        ('title = "t"\n[transfer]\nduration = "1 hour"', "transfer.duration", "expected"),
        ('title = "t"\n[transfer]\nduration = "60 s"', "transfer.duration", "at most"),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nsource = "tape"',
            "transfer.source",
            'expected "memory"',
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nsource = { slow = "1 Mb/s", file = "x" }',
            "transfer.source.file",
            "allowed: slow",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nsource = { file = "/no/such" }',
            "transfer.source.file",
            "a file that exists",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\ncongestion = "hope"',
            "transfer.congestion",
            "one that this system has: ",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nsegment = "40 B"',
            "transfer.segment",
            "at least 88 B",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\nreceiver = { processor = 2 }',
            "transfer.receiver.processor",
            "expected a number",
        ),
        (
            'title = "t"\n[transfer]\nduration = "1 s"\n[wire]\nrate = "1 kb/s"',
            "wire.rate",
            "64 kb/s to 10 Gb/s",
        ),
        ('title = "t"\nrepetitions = 2\n[transfer]\nduration = "1 s"', "repetitions", "at least 3"),
        ("title = ", "line 1", "TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_key(tmp_path, text, key, says):
    file = tmp_path / "t.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        load(str(file))
    assert [(fault.key, says in fault.allowed) for fault in refused.value.faults] == [(key, True)]


def test_every_fault_of_a_file_is_told_at_once(tmp_path):
    file = tmp_path / "t.toml"
    file.write_text(
        'title = 1\n[transfer]\nduration = "1 s"\nconnections = 0\nsource = { slow = "x" }\n'
    )
    with pytest.raises(InputError) as refused:
        load(str(file))
    assert {fault.key for fault in refused.value.faults} == {
        "title",
        "transfer.connections",
        "transfer.source.slow",
    }


@pytest.mark.parametrize(
    "rate", ["3 Mb/s", "30 Mb/s", "1.544 Mb/s", "155.52 Mb/s", "2.56 Gb/s", "10 Gb/s", "64 kb/s"]
)
def test_a_plan_states_any_rate_of_a_wire_and_of_its_changes_to_a_picosecond_an_octet(
    tmp_path, rate
):
    """The bench shapes 30 Mb/s; in a plan an octet has whole picoseconds: 266 666.67 there."""
    file = tmp_path / "t.toml"
    file.write_text(f'title = "t"\n[transfer]\nduration = "1 s"\n[wire]\nrate = "{rate}"\n')
    setup = load(str(file)).setup()
    changes, _ = interventions(setup)
    for changed in (setup, *(change.setup for change in changes)):
        trial = base_trial(changed, title="t", seed=1)
        (wire,) = {link.ps_per_octet for link in trial.scenario.links}
        assert wire * changed.wire_bps == pytest.approx(8e12, abs=changed.wire_bps / 2)


def test_shipped_transfers_are_listed_with_their_bottlenecks():
    listed = json.loads(invoke("find", "bottleneck", "--json").stdout)
    assert {each["planted"] for each in listed} == {
        "wire",
        "window",
        "turn-around",
        "source",
        "receiver-processor",
        "sender-processor",
        "queue",
        "frames",
    }


def test_the_documented_file_is_one(tmp_path):
    text = page("docs/reference/transfer-file.md")
    file = tmp_path / "t.toml"
    file.write_text(text.partition("```toml\n")[2].partition("```")[0])
    setup = load(str(file)).setup()
    assert (setup.receive_octets, setup.frame_ns, setup.receiver.work_ps_per_octet) == (
        16_000,
        200_000,
        50_000,
    )
