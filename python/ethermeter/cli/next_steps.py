"""Next steps: what a result suggests, as commands that can be typed."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ethermeter.analysis.claims import BAD, UNDECIDED
from ethermeter.blocks import Step
from ethermeter.cli.guard import fresh
from ethermeter.quantities import number
from ethermeter.render.text import with_values

if TYPE_CHECKING:
    from ethermeter.analysis.bottleneck import BottleneckAnswer
    from ethermeter.analysis.call_search import CallsAnswer
    from ethermeter.analysis.capacity import Capacity
    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.ports import Port
    from ethermeter.analysis.value_search import SearchAnswer
    from ethermeter.api.runs import Run
    from ethermeter.captures import Connection
    from ethermeter.experiment import Experiment
    from ethermeter.results.estimates import Point

MOST_STEPS = 2
"""Steps that are printed, those that matter most."""
BUSY = 0.98
"""Share of its time from which a port that loses nothing is called a bottleneck."""
MORE_ROOM = 16
"""How many times the room of a queue a search goes up to."""
REPLICATIONS = 5
"""Trials of a point that give intervals by Student's t."""
LONGER = 10
"""How many times longer a trial becomes that had too few samples."""
MORE_TRIALS = 4
"""How many times more trials halve an interval."""
WIDER = 10
"""How many times farther a search goes that did not find an end."""


def first(steps: Iterator[Step]) -> Iterator[Step]:
    """Yield the first steps."""
    return islice(steps, MOST_STEPS)


def of_run(run: "Run", experiment: "Experiment", words: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a run.

    `words`: the command that ran it, up to and with the experiment and its `--set` options.
    """
    name = words[1]
    settings = list(words[2:])
    if overloaded := [each for each in run.capacities if each.overload is not None]:
        yield from _of_overload(overloaded, experiment, name, settings)
    else:
        yield from _of_ports(run, experiment, name, settings)
    yield from _of_samples(run.estimated, experiment, words)
    if _has_caution(run.estimated, "one-replication"):
        more = _again(words, "--set", f"run.replications={REPLICATIONS}")
        yield Step("intervals by independent trials", more)
    if not any(point.engine.startswith("theory") for point in run.estimated):
        words = ["ethermeter", "validate", name, *settings, "--models"]
        if any(engine.startswith("theory") for engine in experiment.engines):
            yield Step("theory gives no values; why", words)
        elif _has_models(experiment):
            yield Step("no theory was asked for; those that apply", words)


def _has_models(experiment: "Experiment") -> bool:
    """Whether a model applies to an experiment at its first point; bounds are of every network."""
    first = experiment.scenarios.point([0] * len(experiment.sweeps))
    if first.theory is None:
        return True
    # Models import much that a run of a network need not.
    from ethermeter.theory.inputs import model_inputs
    from ethermeter.theory.predictions import applicable

    return bool(applicable(model_inputs(first.scenario(), first.theory)))


def of_measurement(run: "Run", words: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a measurement; `words` are those of the command that made it."""
    for caution in ("host-limited", "late-send"):
        if _has_caution(run.estimated, caution):
            yield Step(
                f"a host, not the network, limits some values ({caution}); what its stages can do",
                ["ethermeter", "find", "ceilings"],
            )
            break
    if _has_caution(run.estimated, "one-replication"):
        more = _again(words, "--set", f"run.replications={REPLICATIONS}")
        yield Step("intervals by independent trials", more)


def of_study(claims: "Sequence[Claim]", study: str, *, quick: bool) -> Iterator[Step]:
    """Yield the steps of a study that was run again."""
    counts = [
        f"{count} {what}"
        for verdicts, what in ((BAD, "missed"), ((UNDECIDED,), "undecided"))
        if (count := sum(claim.verdict in verdicts for claim in claims))
    ]
    if quick and counts:
        yield Step(
            f"claims of a quick run, whose intervals are wide: {', '.join(counts)}; all of it",
            ["ethermeter", "study", study],
        )


def of_search(
    found: "SearchAnswer", experiment: str, settings: Sequence[str], words: Sequence[str]
) -> Iterator[Step]:
    """Yield the steps of a search.

    `experiment`: the file. `settings`: what the command sets in it. `words`: of the command.
    """
    from ethermeter.experiment.search import LARGEST_LIMIT

    trials = min(MORE_TRIALS * found.most_replications, LARGEST_LIMIT)
    if found.outcome == "undecided" and trials > found.most_replications > 1:
        more = _again(words, "--set", f"search.replications={trials}")
        yield Step("more trials of each value narrow the answer", more)
    if found.outcome == "all" and found.direction == "largest":
        wider = _times(found.estimate, WIDER)
        if wider is not None:
            yield Step("every value of the range holds; a wider one", _again(words, f"to={wider}"))
    if found.outcome == "answered" and found.engine != "live" and found.estimate is not None:
        others = [
            each
            for each in settings
            if each.partition("=")[0] != found.key and not each.startswith("search.")
        ]
        yield Step(
            f"all metrics at {found.key} = {found.estimate}",
            [
                "ethermeter",
                "run",
                experiment,
                *set_words([*others, f"{found.key}={found.estimate}"]),
            ],
        )


def of_calls(found: "CallsAnswer", words: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a search for calls that wrote no experiment."""
    if found.calls:
        yield Step(
            f"the experiment with {found.calls} calls, to run or change",
            ["ethermeter", *fresh(words), "--write", "calls.toml"],
        )


def of_bottleneck(found: "BottleneckAnswer", words: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a search for the bottleneck of a transfer."""
    from ethermeter.api.find.bottleneck import MOST_ROUNDS
    from ethermeter.bottleneck.verdict import LOOKS

    if found.bottleneck is None:
        more = min(MORE_TRIALS * found.rounds, MOST_ROUNDS)
        if LOOKS * more > found.rounds:
            again = _again(words, f"repetitions={more}")
            yield Step("more rounds narrow the intervals", again)
    elif found.bottleneck.endswith("-processor"):
        yield Step("what each stage of this host can do", ["ethermeter", "find", "ceilings"])


def of_capture(file: str, connections: "Sequence[Connection]") -> Iterator[Step]:
    """Yield the steps of a capture that was explained as a whole and without a report."""
    judged = [each for each in connections if each.verdict is not None]
    if judged:
        largest = max(judged, key=lambda each: each.octets)
        yield Step(
            f"where the time of connection {largest.number} went",
            ["ethermeter", "explain", file, "--connection", str(largest.number)],
        )
    yield Step("figures", ["ethermeter", "explain", file, "--figure", "report.html"])


def _again(words: Sequence[str], option: str, value: str = "") -> list[str]:
    """Return a command with another value of an option, or of a key, for a run of its own.

    A setting, which has no value behind it, replaces the one of its name.
    """
    key = value.partition("=")[0]
    replaced = {option.partition("=")[0], "--out"}

    def is_replaced(pair: Sequence[str]) -> bool:
        name, _, text = pair[0].partition("=")
        if name == option == "--set":
            return (text or pair[-1]).partition("=")[0] == key
        return name in replaced

    pairs = (pair for pair in with_values(fresh(words)) if not is_replaced(pair))
    kept = [word for pair in pairs for word in pair]
    return ["ethermeter", *kept, option, *([value] if value else [])]


def _has_caution(points: "Sequence[Point]", word: str) -> bool:
    from ethermeter.results.estimates import run_cautions

    of_values = (each.cautions for point in points for each in point.estimates.values())
    return word in run_cautions(points) or any(word in cautions for cautions in of_values)


def _of_samples(
    points: "Sequence[Point]", experiment: "Experiment", words: Sequence[str]
) -> Iterator[Step]:
    """Yield a longer trial where values had few samples, or messages were still under way."""
    phases = experiment.document.get("phases", {})
    kind, _, window = str(phases.get("measure", "")).partition(" ")
    for caution, keys, found in (
        ("few-samples", ("transmit", "measure"), "some values have few samples; a longer trial"),
        ("under-way", ("drain",), "messages were under way at the end; a longer drain"),
    ):
        if not _has_caution(points, caution):
            continue
        longer = {key: _times(phases.get(key), LONGER) for key in keys if key != "measure"}
        if "measure" in keys and (time := _times(window, LONGER)) is not None:
            longer["measure"] = f"{kind} {time}"
        if all(longer.values()):
            settings = _settings({f"phases.{key}": str(text) for key, text in longer.items()})
            yield Step(f"{found} ({caution})", ["ethermeter", *words, *settings])


def _times(text: object, factor: int) -> str | None:
    """Return a number, or a quantity such as "2 s", some times larger; None if it is neither."""
    from ethermeter.units import UnitError, decimal_text, quantity

    if str(text).isdecimal():
        return str(int(str(text)) * factor)
    try:
        read = quantity(text) if isinstance(text, str) else None
    except UnitError:
        return None
    return None if read is None else f"{decimal_text(read.number * factor)} {read.unit}"


def _of_overload(
    found: "Sequence[Capacity]", experiment: "Experiment", name: str, settings: Sequence[str]
) -> Iterator[Step]:
    """Yield the search for how many hosts of the largest kind of flow fit, if these are counted."""
    worst = max(found, key=lambda each: each.load)
    network = experiment.document.get("network", {})
    flows = experiment.document.get("flows", [])
    counts = {each["name"]: each.get("count", 1) for each in network.get("hosts", [])}
    for kind in worst.kinds:
        sender = next((each.get("from") for each in flows if each.get("name") == kind.name), None)
        count = counts.get(sender, 1) if isinstance(sender, str) else 1
        if isinstance(count, int) and count > 1:
            words = ["ethermeter", "find", "value", name, *settings, *_settings(worst.point)]
            key = f"network.hosts.{sender}.count"
            ends = ["from=1", f"to={count}", "--while", "loss <= 0.1%"]
            yield Step(
                f"{worst.resource} is full with fewer; how many of {sender} fit",
                [*words, "--largest", key, *ends],
            )
            return


def _full(*, has_rates: bool) -> str:
    """Return what `validate --models` says of a bottleneck."""
    return "at how many times this load it is full" if has_rates else "what theory says of it"


def _of_ports(
    run: "Run", experiment: "Experiment", name: str, settings: list[str]
) -> Iterator[Step]:
    """Yield what follows for the port that drops most, or else for the busiest one.

    Without an overload, a busy port carries what it is offered, in the long run.
    """
    from ethermeter.analysis import ports
    from ethermeter.theory.load import loads_of

    trials = [trial for trial in run.directory.trials() if trial.engine == "simulation"]
    points = ports.estimate(trials, run.directory) if trials else ()
    if not points:
        return
    dropped, point, port = max(
        ((_dropped(port), point, port) for point in points for port in point.ports),
        key=lambda found: found[0],
    )
    if dropped == 0:
        point = max(points, key=lambda each: each.busiest.medium.value)
        port = point.busiest
    share, has_rates = port.medium.value, loads_of(trials[0].scenario).is_open
    busy = f"busy {100 * share:.4g}% of the time"
    theory = ["ethermeter", "validate", name, *settings, *_settings(point.point), "--models"]
    if share >= BUSY:
        yield Step(
            f"the link from {port.node} to {port.peer} is the bottleneck{_at(point.point)}: "
            f"{busy}; {_full(has_rates=has_rates)}",
            theory,
        )
    elif dropped > 0:
        found = (
            f"the queue at {port.node} towards {port.peer} is the bottleneck{_at(point.point)}: it "
            f"dropped {number(dropped)} frames in a trial, {busy}"
        )
        search = _search_for_room(port.node, point.point, experiment)
        if search:
            words = ["ethermeter", "find", "value", name, *settings, *search]
            yield Step(f"{found}; the smallest queue that loses nothing", words)
        else:
            yield Step(f"{found}; its bound by theory", theory)


def _dropped(port: "Port") -> float:
    """Return the frames that a full queue of a port dropped, a mean over the trials."""
    dropped = port.counts.get("dropped", 0.0)
    return dropped if math.isfinite(dropped) else 0.0


def _search_for_room(
    node: str, point: Mapping[str, str], experiment: "Experiment"
) -> list[str] | None:
    """Return the options of a search for the room of a switch's queues; None if it has no limit."""
    switches = experiment.document.get("network", {}).get("switches", [])
    own: Mapping[str, object] = next((each for each in switches if each.get("name") == node), {})
    for key in ("queue", "queue_size"):
        path = f"network.switches.{node}.{key}"
        room = point.get(path, own.get(key))
        most = _times(room, MORE_ROOM)
        if most is not None:
            others = _settings({of: value for of, value in point.items() if of != path})
            ends = [f"from={room}", f"to={most}"]
            return [*others, "--smallest", path, *ends, "--while", "loss == 0"]
    return None


def _settings(point: Mapping[str, str]) -> list[str]:
    return set_words(f"{key}={value}" for key, value in point.items())


def set_words(settings: Iterable[str]) -> list[str]:
    """Return the words of a command that set keys, each given as KEY=VALUE."""
    return [word for each in settings for word in ("--set", each)]


def _at(point: Mapping[str, str]) -> str:
    at = ", ".join(f"{key} = {value}" for key, value in point.items())
    return f" at {at}" if at else ""
