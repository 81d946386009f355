"""Findings: the answer of a run in sentences, and what to know before it is trusted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from ethermeter.analysis.facts import BOUNDED
from ethermeter.analysis.groups import PART
from ethermeter.document import large_first, plain
from ethermeter.faults import small_first
from ethermeter.metrics import Caution, Metric
from ethermeter.report.data import ReportData
from ethermeter.report.extremes import extremes, known, losses
from ethermeter.report.labels import key_title
from ethermeter.report.sections import (
    agreement,
    benchmark,
    bounds,
    capacity,
    channel,
    measured,
    network,
    run,
    search,
)
from ethermeter.results.estimates import Point, run_cautions
from ethermeter.swept import quantity

MOST = 5
"""Findings of a page."""
MOST_CAUTIONS = 4
MOST_LISTED = 4
"""Values of a key that are written out; of more, the ends."""
HEADLINES: tuple[tuple[Metric, ...], ...] = (
    (Metric.MOS, Metric.RATING),
    (
        Metric.TRANSFER_RATE,
        Metric.UTILISATION,
        Metric.GOODPUT,
        Metric.DATA_RATE,
        Metric.MESSAGE_RATE,
    ),
    (
        Metric.VOICE_DELAY,
        Metric.ROUND_TRIP,
        Metric.ATTEMPT_DELAY,
        Metric.TRANSMISSION_DELAY,
        Metric.ONE_WAY_DELAY,
    ),
)
"""Of each group, the first metric that the run has is worth a sentence."""
LOSSES = (Metric.SPEECH_LOSS, Metric.SAMPLE_LOSS, Metric.LOSS)
"""The first that the run has is worth a sentence."""


def question(data: ReportData) -> str:
    """Say what was varied, who answered, and how often."""
    points = [point for point in data.points if not _is_step(point)] or list(data.points)
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for key, value in point.point.items():
            values.setdefault(key, {})[value] = None
    varied = [_range(key, list(found)) for key, found in values.items() if len(found) > 1]
    engines = ", ".join(dict.fromkeys(_engine(point.engine) for point in points))
    most = max(point.replications for point in points)
    times = f", with {most} replications at each point" if most > 1 else ""
    what = f"Varied: {'; '.join(varied)}. " if varied else ""
    return f"{what}Answered by {engines}{times}."


def _is_step(point: Point) -> bool:
    """Whether a point serves to explain a theory, and answers nothing itself."""
    return point.engine.startswith(("ablation/", "idealised/"))


def _engine(engine: str) -> str:
    kind, _, model = engine.partition("/")
    return f"theory ({model})" if model else {"live": "measurement"}.get(kind, kind)


def _range(key: str, values: Sequence[str]) -> str:
    title = key_title(key)
    title = title if title == key else small_first(title)
    if len(values) <= MOST_LISTED:
        return f"{title} ({', '.join(map(plain, values))})"
    read = {text: found for text in values if (found := quantity(text)) is not None}
    ends = sorted(read, key=lambda text: read[text]) if len(read) == len(values) else list(values)
    return f"{title} ({plain(ends[0])} to {plain(ends[-1])}, {len(values)} values)"


def findings(data: ReportData) -> list[str]:
    """Return the most important three to five sentences about a run.

    A study is answered by its claims, a search by its answer; any other run by the highest and the
    lowest of its main metrics, by its losses and by what is at its limit. How theory, simulation
    and measurement agree comes last.
    """
    answers = [*run.findings(data), *benchmark.findings(data), *search.findings(data)]
    compared = [*bounds.findings(data), *measured.findings(data), *agreement.findings(data)][:2]
    if not answers:
        fits = [*capacity.findings(data), *bounds.deadline_findings(data)]
        limits = [*network.findings(data), *channel.findings(data)][:1]
        values = list(_values(data))[: MOST - len(fits) - len(limits) - len(compared)]
        answers = [*fits, *values, *limits]
    elif len(answers) < MOST and data.study:
        answers += list(_values(data))[: MOST - len(answers) - len(compared)]
    return [*answers, *compared][:MOST]


def _values(data: ReportData) -> Iterator[str]:
    """Yield a sentence of each group of metrics that the run has."""
    for group in (*HEADLINES, LOSSES):
        for metric in group:
            points = _answering(data, metric)
            if any(each.estimate.value for each in known(points, metric)) or (
                metric in LOSSES and points
            ):
                sentence = losses(metric, points) if metric in LOSSES else extremes(metric, points)
                if sentence is not None:
                    yield sentence
                break


def _answering(data: ReportData, metric: Metric) -> list[Point]:
    """Return the points by the engine that knows best: measured, else simulated, else by theory.

    A mean over flows of several kinds is of nothing in particular, so there they are apart.
    """
    every = [point for point in data.points if not _is_step(point) and point.engine != BOUNDED]
    apart = {point.series for point in data.tables}
    every = [point for point in every if point.series not in apart or _is_total(metric)]
    if not _is_total(metric):
        every += [_by_flow(point) for point in data.tables]
    having = [point for point in every if known([point], metric)]
    for kind in ("live", "simulation"):
        if found := [point for point in having if point.engine == kind]:
            return found
    return having


def _by_flow(point: Point) -> Point:
    """Return a point of a table of flows, told apart by its name."""
    others = {key: value for key, value in point.point.items() if key != PART}
    return replace(point, point={**others, "flow": point.point[PART]})


def _is_total(metric: Metric) -> bool:
    """Whether the value of all flows together is their sum."""
    return metric in HEADLINES[1] and metric is not Metric.TRANSFER_RATE


def warnings(data: ReportData) -> list[str]:
    """Return what to know before the values are trusted: cautions and exceeded bounds."""
    texts: list[str] = [
        Markup("{}: <code>{}</code>.").format(large_first(Caution(word).meaning), word)
        for word in run_cautions(data.points)
    ]
    texts += bounds.warnings(data)
    texts += benchmark.warnings(data)
    texts += run.warnings(data)
    found = _cautions(data.points)
    for word, count in list(found.items())[:MOST_CAUTIONS]:
        texts.append(
            Markup('{} of {} points have <a href="#cautions"><code>{}</code></a>: {}.').format(
                f"{count:,}", f"{len(data.points):,}", word, Caution(word).meaning
            )
        )
    if len(found) > MOST_CAUTIONS:
        rest = len(found) - MOST_CAUTIONS
        texts.append(Markup('<a href="#cautions">{} more cautions</a>.').format(rest))
    return texts


def _cautions(points: Sequence[Point]) -> Mapping[str, int]:
    """Count the points with each caution of values, the most frequent first."""
    counts: dict[str, int] = {}
    for point in points:
        words = {word for estimate in point.estimates.values() for word in estimate.cautions}
        for word in words - {Caution.NO_SAMPLES}:
            counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
