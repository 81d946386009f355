"""Rates: the ceiling of the testers alone, and the throughput of the device below it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethermeter.benchmark.bench import Bench, Stimulus
from ethermeter.benchmark.outcome import Outcome
from ethermeter.benchmark.searches import (
    LEAST_SHARE,
    Found,
    Goal,
    Measure,
    halving_search,
)
from ethermeter.benchmark.steps import Ledger, Results, Step
from ethermeter.faults import InputError
from ethermeter.units import PS_PER_S

Pairs = Sequence[tuple[str, Sequence[str]]]
"""Senders, each with its receivers."""
RAMP = (0.1, 0.25, 0.5)
"""Shares of the highest rate at which frames are sent before a measured search begins."""
RAMP_S = 0.25
_RATE_INDEPENDENT = 0.25
"""From here on the loss at half the line rate comes from something else than the rate: 0 is the
loss that a limit of rate would leave, 1 that at the line rate.
"""
_CEILING_WIDTH = 0.02
_TRIES = 3
"""Trials of a stimulus at most, while senders are late."""
GENERATOR, THROUGHPUT = "generator", "throughput"
"""Names of steps, before the length of the frames."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Highest rate of the testers without the device.

    Parameters
    ----------
    rate
        Frames/s of each sender; None if the testers lose frames at any rate.
    line_rate
        The highest theoretical rate.
    outcome
        Of the trial at the line rate.
    culprit
        Location of the testers' own losses; empty without any.

    """

    rate: float | None
    line_rate: float
    outcome: Outcome
    culprit: str = ""

    @property
    def is_line_rate(self) -> bool:
        """Whether the testers reach the line rate."""
        return self.rate is not None and self.rate >= self.line_rate * (1 - 1e-9)

    @property
    def remark(self) -> str:
        """What a report says of the testers; empty if they reach the line rate."""
        if self.is_line_rate:
            return ""
        if self.rate is None and not self.outcome.lost_frames:
            return f"{self.culprit}: frames are sent late at any rate; nothing is searched"
        if self.rate is None:
            return (
                f"{self.culprit}: loses {100 * self.outcome.loss:.3g}% of the frames without the "
                "device; nothing is searched"
            )
        share = 100 * self.rate / self.line_rate
        return f"searched up to {share:.3g}% of the line rate, the limit of the testers"


@dataclass(frozen=True, slots=True)
class Throughput:
    """Highest rate that the device forwards without loss, below the ceiling of the testers."""

    found: Found
    ceiling: Ceiling
    octets: int

    @property
    def rate(self) -> float | None:
        """Frames/s of each sender; None if there is none."""
        return self.found.rate

    @property
    def is_line_rate(self) -> bool:
        """Whether it is the highest theoretical rate."""
        line = self.ceiling.line_rate
        return self.rate is not None and self.rate >= line * (1 - 1e-9)

    @property
    def remark(self) -> str:
        """What a report says of it."""
        if self.ceiling.rate is not None and self.rate is None:
            return "frames are lost at the lowest rate already"
        is_limited = self.found.above is None and not self.is_line_rate
        if self.ceiling.rate is not None and is_limited:
            return "at least: " + self.ceiling.remark
        return self.ceiling.remark


def frame_text(octets: int) -> str:
    """Return the length of a frame as a point has it."""
    return f"{octets} B"


def key_of(name: str, octets: int) -> str:
    """Return the key of a step for a length of frames."""
    return f"{name} {frame_text(octets)}"


def rate_stimulus(
    bench: Bench,
    pairs: Pairs,
    octets: int,
    load: float,
    seconds: float,
    *,
    cast: str = "unicast",
    network: Mapping[str, object] | None = None,
    label: Mapping[str, str] | None = None,
) -> Stimulus:
    """Return the stimulus of frames at a rate.

    Parameters
    ----------
    bench
        The device between testers.
    pairs, octets, load
        As of `Bench.rate_streams`.
    seconds
        Duration of the transmission, in s.
    cast, network, label
        As of `Stream` and `Stimulus`.

    """
    transmit_ps = max(round(seconds * PS_PER_S), PS_PER_S // 1000)
    return Stimulus(
        label={"frame": frame_text(octets), "load": f"{load:.6g} /s", **(label or {})},
        transmit_ps=transmit_ps,
        streams=bench.rate_streams(pairs, octets, load, transmit_ps=transmit_ps, cast=cast),
        network=network,
    )


def punctual(ledger: Ledger, stimulus: Stimulus) -> Outcome:
    """Return the outcome of the first trial whose senders kept their times; of a third one anyhow.

    Whether a trial is repeated depends on the senders' times alone, and on whether it lost frames,
    not on how many.
    """
    for _ in range(_TRIES - 1):
        outcome = ledger.measure(stimulus)
        if not outcome.is_late:
            return outcome
    return ledger.measure(stimulus)


def directed(bench: Bench, pairs: Pairs) -> Pairs:
    """Return pairs, and their reverse where traffic is bidirectional."""
    if not bench.settings.is_bidirectional:
        return pairs
    return [*pairs, *((receiver, (sender,)) for sender, (receiver,) in pairs)]


def line_rate(bench: Bench, pairs: Pairs, octets: int) -> float:
    """Return the highest theoretical frame rate of the slowest sender's link, in frames/s."""
    return min(bench.line_rate(sender, octets) for sender, _ in pairs)


def generator_step(bench: Bench, octets: int, pairs: Pairs, *, both_ways: bool) -> Step:
    """Return the step that measures the testers without the device.

    Parameters
    ----------
    bench
        The device between testers.
    octets
        Length of frames.
    pairs
        Senders and receivers with the device, which hosts of a laboratory send to: their cables
        cannot be changed from here, and what counts is what left the senders.
    both_ways
        Whether testers send in both directions.

    """

    def run(ledger: Ledger, _: Results) -> Ceiling:
        most = line_rate(bench, pairs, octets)
        seconds = bench.settings.trial_s
        if bench.settings.venue == "hosts":
            return _sending_ceiling(ledger, bench, pairs, octets, most)
        # Two by two; of an odd number the last one joins in with the device only.
        used = {host for sender, receivers in pairs for host in (sender, *receivers)}
        names = [name for name in bench.testers if name in used]
        joined = list(zip(names[::2], names[1::2], strict=False))
        network = bench.back_to_back(joined)
        alone = [(one, (other,)) for one, other in joined]
        alone += [(other, (one,)) for one, other in joined if both_ways]

        def measure(seconds: float, load: float) -> Outcome:
            return punctual(
                ledger, rate_stimulus(bench, alone, octets, load, seconds, network=network)
            )

        at_line = measure(seconds, most)
        if not at_line.lost_frames and not at_line.is_late:
            return Ceiling(most, most, at_line)
        # As many frames in twice the time: the same loss then does not come from the rate.
        at_half = measure(2 * seconds, most / 2)
        of_rate = max(0.0, 2 * at_line.loss - 1)
        if at_line.lost_frames and at_half.loss > of_rate + _RATE_INDEPENDENT * (
            at_line.loss - of_rate
        ):
            return Ceiling(None, most, at_half, culprit_of(at_half))
        goal = Goal(width=_CEILING_WIDTH, trial_s=seconds)
        found = halving_search(
            lambda seconds, load: _Offered.of(measure(seconds, load)),
            goal,
            least=most * LEAST_SHARE,
            most=most,
        )
        return Ceiling(found.rate, most, at_line, culprit_of(at_line) if not found.rate else "")

    return Step(key_of(GENERATOR, octets), run)


@dataclass(frozen=True, slots=True)
class _Offered:
    """Frames of a trial without the device; one too few where the senders were late."""

    intended: int
    sent: int
    received: int

    @classmethod
    def of(cls, outcome: Outcome) -> "_Offered":
        """Return the frames of an outcome."""
        return cls(outcome.intended, outcome.sent, outcome.received - outcome.is_late)


def _sending_ceiling(
    ledger: Ledger, bench: Bench, pairs: Pairs, octets: int, most: float
) -> Ceiling:
    """Return the rate at which frames leave the senders of a laboratory."""
    outcome = ledger.measure(rate_stimulus(bench, pairs, octets, most, bench.settings.trial_s))
    unsent = outcome.lost.get("generator", 0)
    share = max(0.0, 1 - unsent / outcome.intended) if outcome.intended else 0.0
    if not share:
        return Ceiling(None, most, outcome, "generator")
    return Ceiling(most * share, most, outcome)


def culprit_of(outcome: Outcome) -> str:
    """Return the location of most losses of a trial without the device; empty without a fault."""
    if not outcome.lost:
        return "generator" if outcome.is_late else ""
    most = max(outcome.lost, key=lambda location: outcome.lost[location])
    # Nothing else takes part.
    return "generator or receiver" if most == "unexplained" else most


def tester_culprit(octets: Sequence[int], results: Results) -> str:
    """Return the location at which testers lose frames without a device at any rate.

    Empty if they can be used at all lengths of frames.
    """
    ceilings: list[Ceiling] = [results[key_of(GENERATOR, each)] for each in octets]
    return next((each.culprit for each in ceilings if each.rate is None and each.culprit), "")


def throughput_step(
    bench: Bench, octets: int, pairs: Pairs, *, name: str = THROUGHPUT, cast: str = "unicast"
) -> Step:
    """Return the step that searches the throughput below the ceiling of the testers.

    Raises
    ------
    InputError
        If the library of the search is not installed.

    """
    if bench.settings.search == "mlr":
        _require_mlr()

    def run(ledger: Ledger, results: Results) -> Throughput:
        ceiling: Ceiling = results[key_of(GENERATOR, octets)]
        if ceiling.rate is None:
            return Throughput(Found(None, None, None, 0), ceiling, octets)

        def measure(seconds: float, load: float) -> Outcome:
            stimulus = rate_stimulus(bench, pairs, octets, load, seconds, cast=cast)
            return punctual(ledger, stimulus)

        most = min(ceiling.rate, line_rate(bench, pairs, octets))
        if bench.settings.is_live:
            for share in RAMP:
                measure(RAMP_S, share * most)
        return Throughput(searched(bench, measure, most), ceiling, octets)

    return Step(key_of(name, octets), run, needs=(key_of(GENERATOR, octets),), expected_trials=20)


def _require_mlr() -> None:
    """Refuse MLRsearch before trials are run where its library is missing."""
    from importlib.util import find_spec

    if find_spec("MLRsearch") is None:
        allowed = "needs the extra: pip install 'ethermeter[benchmark]'; or search=binary"
        raise InputError.of_argument("search", "mlr", allowed)


def searched(bench: Bench, measure: Measure, most: float) -> Found:
    """Search a rate without loss by the search of the settings."""
    settings = bench.settings
    trial_s = settings.trial_s
    goal = Goal(
        width=settings.width,
        trial_s=trial_s,
        first_trial_s=trial_s if settings.is_standard else trial_s / 4,
        sum_s=trial_s,
    )
    least = most * LEAST_SHARE
    if settings.search == "binary":
        return halving_search(measure, goal, least=least, most=most)
    from ethermeter.benchmark.multiple_loss_ratio import mlr_search

    (found,) = mlr_search(measure, (goal,), least=least, most=most)
    return found
