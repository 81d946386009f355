"""Explore: sliders over the simulator, in a notebook."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ethermeter.analysis.flows import OF_MESSAGES
from ethermeter.analysis.groups import by_table
from ethermeter.api.experiments import Loaded, load
from ethermeter.entities import flows_in
from ethermeter.faults import InputError
from ethermeter.metrics import Metric
from ethermeter.notebook import html_table
from ethermeter.results.query import Results
from ethermeter.results.values import metrics_in
from ethermeter.trial import Trial

SEGMENT_METRICS = ("utilisation", "goodput", "access_delay", "collisions_per_frame", "loss")
NETWORK_METRICS = ("data_rate", "one_way_delay", "one_way_delay_p99", "loss")
"""Metrics that are shown unless others are named."""


def values_of(trial: Trial) -> dict[Metric, tuple[float, str]]:
    """Return the value and the unit of every metric of a whole segment or network, by simulation.

    Raises
    ------
    ValueError
        If the core refuses the trial.

    """
    from ethermeter.engines.answer import answer

    results = Results.of_trial(trial, answer(trial.line, traces=trial.traces))
    return {metric: (results.all(metric), metric.unit) for metric in metrics_in(trial)}


class Exploration:
    """One slider for each key, and the values of the point that they choose.

    Parameters
    ----------
    source
        An experiment, as `ethermeter.load` takes it.
    choices
        The values of each key, as texts of an experiment file.
    metrics
        Those shown.

    """

    def __init__(
        self,
        source: Path | str | Mapping[str, object],
        choices: Mapping[str, Sequence[str]],
        metrics: Sequence[Metric],
    ) -> None:
        import ipywidgets

        self._source, self._metrics = source, metrics
        self.values: dict[Metric, tuple[float, str]] = {}
        """Value and unit of every metric at the chosen point."""
        self.sliders = {
            key: ipywidgets.SelectionSlider(
                options=list(texts),
                description=key.rpartition(".")[2],
                tooltip=key,
                continuous_update=False,
            )
            for key, texts in choices.items()
        }
        self._shown = ipywidgets.HTML()
        self.widget = ipywidgets.VBox([*self.sliders.values(), self._shown])
        """The sliders above their table."""
        for slider in self.sliders.values():
            slider.observe(self._show, "value")
        self._show(None)

    def _show(self, _: object) -> None:
        overrides = [f"{key}={slider.value}" for key, slider in self.sliders.items()]
        try:
            loaded = load(self._source, overrides=[*overrides, "vary={}"])
            trial = loaded.plan(replications=1).trials[0]
            self.values = values_of(trial)
        except ValueError as error:
            self._shown.value = html_table(
                "", ("fault",), [(line,) for line in str(error).split("\n")]
            )
            return
        rows = []
        for metric in self._metrics:
            value, _ = self.values[metric]
            label = metric.label
            is_mixed = metric in OF_MESSAGES and len(by_table(trial.scenario)) > 1
            title = f"{label.title} over all flows" if is_mixed else label.title
            rows.append((title, f"{value * label.factor:.4g} {label.unit}".strip()))
        self._shown.value = html_table("", ("metric", "value"), rows)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.widget._repr_mimebundle_(**options)


def explore(
    source: Path | str | Mapping[str, object],
    *keys: str,
    metrics: Sequence[Metric | str] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
) -> Exploration:
    """Show sliders over an experiment; each change simulates its point anew.

    Needs ipywidgets: `pip install 'ethermeter[notebook]'`.

    Parameters
    ----------
    source
        A file, the name of a shipped experiment, text or tables, as `ethermeter.load` takes them.
    *keys
        Keys of the file, one slider each; all that it varies if none is given.
    metrics
        Those shown; five of segments or four of networks if None.
    values
        Values of a key that the experiment does not vary.

    Raises
    ------
    InputError
        If ipywidgets is missing, or a key has no values.

    Examples
    --------
    >>> em.explore("poisson-load", "stations.frames")  # doctest: +SKIP

    """
    try:
        import ipywidgets  # noqa: F401
    except ImportError as error:
        allowed = "installed: pip install 'ethermeter[notebook]'"
        raise InputError.of("explore", "ipywidgets", "missing", allowed) from error
    loaded = load(source)
    trial = loaded.plan(replications=1).trials[0]
    usual = NETWORK_METRICS if flows_in(trial.scenario) else SEGMENT_METRICS
    return Exploration(
        source, _choices(loaded, keys, values or {}), [Metric(each) for each in metrics or usual]
    )


def _choices(
    loaded: Loaded, keys: Sequence[str], values: Mapping[str, Sequence[Any]]
) -> dict[str, tuple[str, ...]]:
    """Return the texts of each key: those given, or those that the experiment varies."""
    varied = {sweep.key: sweep.texts for sweep in loaded.experiments[0].sweeps}
    given = {key: tuple(str(value) for value in found) for key, found in values.items()}
    found = {}
    for key in keys or (*varied, *given):
        texts = given.get(key) or varied.get(key)
        if not texts:
            allowed = f'a key that the experiment varies, or values={{"{key}": […]}}'
            raise InputError.of("explore", "key", key, allowed)
        found[key] = texts
    return found
