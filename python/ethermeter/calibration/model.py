"""Model: an experiment file whose network has unknowns, and its answer for given values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ethermeter.calibration.data import Datum, plca_of_run
from ethermeter.calibration.estimation import Floats
from ethermeter.calibration.unknown import Unknown, read_unknowns
from ethermeter.experiment import toml
from ethermeter.experiment.document import required_table
from ethermeter.experiment.key_paths import overridden
from ethermeter.experiment.lowering import Scenarios
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.toml import assigned
from ethermeter.faults import Fault, InputError, choices, shown
from ethermeter.metrics import EntityKind, Metric, metrics_of
from ethermeter.scenario import Scenario
from ethermeter.trial import SIMULATION, Trial, planned

_KEYS = ("metrics", "unknown")


@dataclass(frozen=True)
class Model:
    """A network with unknowns.

    `path`: its file. `document`: the experiment file without `calibrate`, as tables. `unknowns`:
    parameters to determine from data. `metrics`: what is taken of runs. `seed`: where the chance of
    its trials comes from.
    """

    path: Path
    document: Mapping[str, object] = field(repr=False)
    unknowns: tuple[Unknown, ...]
    metrics: tuple[Metric, ...]
    seed: int

    def check(self, data: Sequence[Datum]) -> None:
        """Refuse data of points that the model's file cannot have.

        Raises InputError with every fault.
        """
        faults: dict[tuple[str, str], Fault] = {}
        for datum in data:
            try:
                self._scenario([unknown.start for unknown in self.unknowns], datum.point)
            except InputError as error:
                for fault in error.faults:
                    faults.setdefault(
                        (fault.key, fault.value),
                        Fault(datum.source, fault.key, fault.value, fault.allowed),
                    )
        if faults:
            raise InputError(faults.values())

    def check_interfaces(self, runs: Sequence[Path]) -> None:
        """Refuse measurements of a bus whose interfaces had other settings than the model.

        `runs`: run directories. Raises InputError with every setting that differs.
        """
        start = [unknown.start for unknown in self.unknowns]
        faults = {
            (found.host, name): Fault(
                str(run),
                f"{found.host}.{found.interface}.plca.{name}",
                found.settings[name],
                f"expected {wanted}, which {self.path} has: a calibration is of one bus",
            )
            for run in runs
            for found in plca_of_run(run, partial(self._scenario, start))
            for name, wanted in found.differs.items()
        }
        if faults:
            raise InputError(faults.values())

    def with_values(self, values: Sequence[float] | Floats) -> dict[str, object]:
        """Return the document with values for its unknowns.

        `values`: in the unknowns' units.
        """
        tree: Any = dict(self.document)
        for unknown, value in zip(self.unknowns, values, strict=True):
            for path in unknown.paths:
                tree = assigned(tree, path, unknown.text(value))
        return dict(tree)

    def settings(
        self, values: Sequence[float] | Floats, point: Mapping[str, str]
    ) -> dict[str, str]:
        """Return what distinguishes a trial: the keys of a point, and the unknowns, as text."""
        texts = {
            unknown.name: unknown.text(value)
            for unknown, value in zip(self.unknowns, values, strict=True)
        }
        return {**point, **texts}

    def trial(
        self, values: Sequence[float] | Floats, point: Mapping[str, str], *, number: int
    ) -> Trial:
        """Return the trial that answers for values of the unknowns at a point of the data.

        `values`: of the unknowns, in their units. `point`: dotted keys that have other values than
        in the file. `number`: of the trial in its plan.
        """
        return planned(
            id=f"calibrate/{number:05d}",
            series="calibrate",
            replication=0,
            seed=self.seed,
            engine=SIMULATION,
            point=self.settings(values, point),
            scenario=self._scenario(values, point),
        )

    def _scenario(self, values: Sequence[float] | Floats, point: Mapping[str, str]) -> Scenario:
        document = self.with_values(values)
        if point:
            document, faults = overridden(
                document, [f"{key}={text}" for key, text in point.items()]
            )
            if faults:
                raise InputError(faults)
        # Of one batch: what is looked for is a value, not how sure it is.
        return Scenarios(
            document,
            (),
            engines=(SIMULATION,),
            batches=1,
            file=str(self.path),
            folder=self.path.parent,
        ).at(())


def read_model(path: Path) -> Model:
    """Read a model: an experiment file on a network with the table `calibrate`.

    Raises InputError with every fault.
    """
    file = str(path)
    document = toml.parsed(toml.text_of(path, file=file), file=file)
    table = document.pop("calibrate", None)
    required_table(document, "network", file=file, why="hosts whose flows were measured")
    document.pop("vary", None)
    experiment = of_document(document, path)
    if not isinstance(table, dict):
        value = "(missing)" if table is None else shown(table)
        raise InputError.of(file, "calibrate", value, "expected a table with metrics and unknown")
    faults = [
        Fault(
            file,
            f"calibrate.{key}",
            shown(table[key]),
            f"unknown key; {choices(key, _KEYS, 'allowed: ')}",
        )
        for key in table
        if key not in _KEYS
    ]
    named = table.get("metrics", [])
    known = metrics_of(EntityKind.FLOW)
    if not isinstance(named, list) or not all(
        isinstance(name, str) and name in known for name in named
    ):
        faults.append(
            Fault(
                file,
                "calibrate.metrics",
                shown(named),
                f"expected a list of metrics of flows: {', '.join(known)}",
            )
        )
        named = []
    unknowns, wrong = read_unknowns(document, table.get("unknown"), file=file)
    faults += wrong
    if faults:
        raise InputError(faults)
    return Model(path, document, unknowns, tuple(map(Metric, named)), experiment.seed)
