"""Calibration: least squares over the unknowns of a network, each evaluation a few trials."""

from collections.abc import Mapping, Sequence

import numpy as np

from ethermeter.calibration.answer import FitAnswer
from ethermeter.calibration.calibrate import Calibration, calibrate
from ethermeter.calibration.data import Datum
from ethermeter.calibration.estimation import Floats, UnansweredError
from ethermeter.calibration.model import Model
from ethermeter.experiment import Experiment
from ethermeter.experiment.reading import of_document
from ethermeter.metrics import Metric
from ethermeter.strategies.strategy import Finished, Observed, question_text
from ethermeter.trial import Trial

_ITERATIONS = 8
"""Steps that least squares usually takes."""


class CalibrationSearch:
    """Fits the unknowns of a network to data, with the simulator as the model.

    Least squares are begun again with every proposal; what was simulated before is remembered, and
    what is missing is proposed.

    `model`: the network. `data`: what was measured.
    Raises InputError if the data are of points that the model cannot have.
    """

    name = "calibrate"

    def __init__(self, model: Model, data: Sequence[Datum]) -> None:
        model.check(data)
        self._model, self._data = model, tuple(data)
        self._points = list({tuple(each.point.items()): each.point for each in data}.values())
        self._known: dict[tuple[tuple[str, str], ...], dict[Metric, float]] = {}
        self._answers: dict[bytes, Floats] = {}
        self._found: Calibration | None = None

    @property
    def is_finished(self) -> bool:
        """Whether it has found a calibration."""
        return self._found is not None

    @property
    def found(self) -> Calibration:
        """The calibration, once the strategy is finished."""
        if self._found is None:
            raise ValueError("the calibration is not finished")
        return self._found

    @property
    def question(self) -> str:
        """The model and the data, as JSON text."""
        return question_text(
            {
                "strategy": self.name,
                "model": self._experiment.source_text,
                "unknowns": self._model.unknowns,
                "data": [
                    (each.source, each.point, str(each.metric), each.value, each.error)
                    for each in self._data
                ],
            }
        )

    @property
    def _experiment(self) -> Experiment:
        starts = [unknown.start for unknown in self._model.unknowns]
        return of_document(self._model.with_values(starts), self._model.path)

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The model with the values from which the search begins."""
        return (self._experiment,)

    @property
    def expected_trials(self) -> int:
        """Trials of some steps, each with the slopes along every unknown."""
        return _ITERATIONS * (2 * len(self._model.unknowns) + 1) * len(self._points)

    def propose(self, observed: Sequence[Observed]) -> tuple[Trial, ...] | Finished[FitAnswer]:
        """Return the trials of the next sets of parameters, or the calibration."""
        for each in observed[len(self._known) :]:
            key = tuple(each.trial.point.items())
            metrics = {datum.metric for datum in self._data}
            self._known[key] = {metric: each.results.all(metric) for metric in metrics}
        try:
            self._found = calibrate(self._model, self._data, self._answer)
        except UnansweredError as error:
            return self._trials(error.values, len(observed))
        return Finished(FitAnswer.of(self._found))

    def _answer(self, values: Floats) -> Floats:
        """Return what the data should be, in the metrics' units, shape `(data,)`."""
        if values.tobytes() not in self._answers:
            keys = [self._key(values, datum.point) for datum in self._data]
            if not self._known.keys() >= set(keys):
                raise UnansweredError([values.copy()])
            self._answers[values.tobytes()] = np.array(
                [
                    self._known[key][datum.metric]
                    for key, datum in zip(keys, self._data, strict=True)
                ]
            )
        return self._answers[values.tobytes()].copy()

    def _trials(self, unanswered: Sequence[Floats], begin: int) -> tuple[Trial, ...]:
        wanted = {
            self._key(values, point): (values, point)
            for values in unanswered
            for point in self._points
        }
        missing = [each for key, each in wanted.items() if key not in self._known]
        return tuple(
            self._model.trial(values, point, number=number)
            for number, (values, point) in enumerate(missing, begin)
        )

    def _key(
        self, values: Sequence[float] | Floats, point: Mapping[str, str]
    ) -> tuple[tuple[str, str], ...]:
        return tuple(self._model.settings(values, point).items())
