"""The question: an experiment, the key whose value is wanted, and what must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from ethermeter import plan
from ethermeter.analysis.conditions import Condition, ConditionError, condition
from ethermeter.experiment import Experiment
from ethermeter.experiment.document import tables_of
from ethermeter.experiment.key_paths import resolved
from ethermeter.experiment.reading import of_document
from ethermeter.experiment.search import Search
from ethermeter.experiment.tables import read_table
from ethermeter.experiment.toml import PathError, Tables
from ethermeter.faults import ARGUMENTS, Fault, InputError, Key, choices, shown
from ethermeter.metrics import Metric
from ethermeter.search.values import RangeError, Value, Values, values_of
from ethermeter.theory.assumptions import ANSWERING, MODELS
from ethermeter.trial import IDEALISED, LIVE, SIMULATION, THEORY, Trial, renumbered
from ethermeter.units import PS_PER_S

Direction = Literal["largest", "smallest"]
OPTIONS = ("largest", "smallest", "from", "to", "step", "while", "engine", "confidence",
           "replications")  # fmt: skip
"""Keys of the table `search`."""
LENGTH = "phases.transmit"
"""Key of the point of a trial that transmits longer than the file says."""


@dataclass(frozen=True)
class Question:
    """Which value of a key is wanted, between which ends, and what must hold there.

    `experiment`: of which nothing is varied. `key`: dotted. `values`: those that are tried, the
    easiest first. `engine`: of the trials, with its model. `confidence`: that the answer lies
    between the values that are stated. `replications`: of a value at most; 1 of a theory.
    """

    experiment: Experiment
    key: str
    direction: Direction
    values: Values
    conditions: tuple[Condition, ...]
    engine: str
    confidence: float
    replications: int
    _made: dict[int, Experiment] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_chance(self) -> bool:
        """Whether replications differ."""
        return not self.engine.startswith(THEORY)

    @cached_property
    def seed(self) -> int:
        """Seed of every draw."""
        return self.experiment.seed

    def document(self, value: Value) -> Tables:
        """Return the experiment file of a value."""
        family, _, model = self.engine.partition("/")
        found = {**self.experiment.document, "vary": {self.key: [value]}}
        found["run"] = {**found.get("run", {}), "engines": [family]}
        if model:
            found["theory"] = {**found.get("theory", {}), "models": [model]}
        return found

    def at(self, position: int) -> Experiment:
        """Return the experiment of a value; InputError if its key does not take it."""
        if position not in self._made:
            document = self.document(self.values.at(position))
            self._made[position] = of_document(document, self.experiment.path)
        return self._made[position]

    def trials(self, position: int, begin: int, end: int, *, times: int = 1) -> tuple[Trial, ...]:
        """Return replications of a value, from `begin` on and below `end`.

        `times`: how many times longer than in the file they transmit; their last half is measured,
        if that is longer than in the file. The length is in their point then.
        Raises InputError if the value, or the engine, does not go with the experiment.
        """
        experiment = self.at(position)
        if times == 1:
            return plan.expand([experiment], replications=end).trials[begin:end]
        (trial,) = plan.expand([experiment], replications=1).trials
        phases = trial.scenario.phases
        transmit_ps = times * (phases.stop_ps - phases.begin_ps)
        window_ps = max(phases.measure_to_ps - phases.measure_from_ps, transmit_ps // 2)
        longer = {"transmit": f"{transmit_ps} ps", "measure": f"last {window_ps} ps"}
        document = self.document(self.values.at(position))
        document["phases"] = {**document.get("phases", {}), **longer}
        made = of_document(document, self.experiment.path)
        point = {**trial.point, LENGTH: f"{transmit_ps / PS_PER_S:g} s"}
        return tuple(
            renumbered(each, begin + number, point=point)
            for number, each in enumerate(plan.expand([made], replications=end).trials[begin:end])
        )


def question_of(experiment: Experiment, options: Mapping[str, object]) -> Question:
    """Return the question of an experiment's table `search`, and of options that go before it.

    `options`: by the keys of the table, `OPTIONS`. Raises InputError with every fault that was
    found, by the name of the option or the key of the file.
    """
    return _Reader(experiment, options).question()


def check_table(experiment: Experiment) -> None:
    """Raise InputError with every fault of an experiment's table `search`, if it has one.

    Other keys may be varied, for an option may choose a value of each.
    """
    if "search" in experiment.document:
        question_of(replace(experiment, sweeps=()), {})


class _Reader:
    """Reads a question, and names faults by where they were given."""

    def __init__(self, experiment: Experiment, options: Mapping[str, object]) -> None:
        self._experiment, self._options = experiment, options
        of_file = dict(experiment.document.get("search", {}))
        if {"largest", "smallest"} & options.keys():
            of_file = {key: of_file[key] for key in of_file.keys() - {"largest", "smallest"}}
        self._table = of_file | dict(options)
        self._faults: list[Fault] = []

    def question(self) -> Question:
        search = self._validated()
        direction: Direction = "smallest" if search.smallest is not None else "largest"
        key = str(search.smallest if search.largest is None else search.largest)
        self._check_given(search)
        conditions = [self._condition(text) for text in search.conditions or ()]
        engine = self._engine(search.engine or SIMULATION)
        self._check_key(direction, key)
        values = self._values(search, is_rising=direction == "largest")
        is_known = not self._faults
        self._check_sweeps(key)
        if values is None or not is_known:
            raise InputError(dict.fromkeys(self._faults))
        is_formula = engine.startswith(THEORY)
        found = Question(
            self._experiment,
            key,
            direction,
            values,
            tuple(each for each in conditions if each is not None),
            engine,
            float(search.confidence),
            1 if is_formula else search.replications,
        )
        self._check_ends(found)
        return found

    def _validated(self) -> Search:
        try:
            return read_table(Search, self._table, file="search", within=("search",))
        except InputError as error:
            for fault in error.faults:
                key, _, rest = fault.key.removeprefix("search.").partition(".")
                self._add(key, fault.value, fault.allowed, rest=rest)
            raise InputError(self._faults) from None

    def _check_given(self, search: Search) -> None:
        wanted = [name for name in ("largest", "smallest") if getattr(search, name) is not None]
        if len(wanted) != 1:
            value = " and ".join(wanted) or "(missing)"
            self._add("largest", value, "expected one of largest and smallest, a dotted key")
        for key, given in (("from", search.first), ("to", search.last)):
            if given is None:
                self._add(key, "(missing)", "required: an end of the range of values")
        if search.conditions is None:
            self._add("while", "(missing)", 'required: what must hold, such as "loss <= 0.1%"')

    def _condition(self, text: str) -> Condition | None:
        try:
            return condition(text)
        except ConditionError as error:
            self._add("while", shown(text), str(error))
            return None

    def _engine(self, engine: str) -> str:
        family, _, model = engine.partition("/")
        has_flows = bool(self._experiment.document.get("flows"))
        models = ANSWERING if has_flows else MODELS
        families = [SIMULATION, LIVE, *(f"{THEORY}/{each}" for each in models)]
        if not has_flows:
            families += [f"{IDEALISED}/{each}" for each in models]
        if engine not in families:
            near = model if family in (THEORY, IDEALISED) and model else engine
            names = families if near == engine else [f"{family}/{each}" for each in models]
            self._add("engine", shown(engine), f"expected an engine: {choices(engine, names)}")
        return engine

    def _check_key(self, direction: Direction, key: str) -> None:
        """Find a key that cannot be varied."""
        if self._table.get(direction) is None:
            return
        try:
            self._path(key)
        except PathError as error:
            self._add_key(direction, key, str(error))

    def _path(self, key: str) -> tuple[Key, ...]:
        document = self._experiment.document
        return resolved(document, key.split("."))

    def _add_key(self, direction: Direction, key: str, allowed: str) -> None:
        document = self._experiment.document
        near = choices(key, _keys(document, tables_of(document)))
        text = near if near.startswith("did you mean") else allowed
        self._add(direction, shown(key), text)

    def _check_sweeps(self, key: str) -> None:
        """Find keys that are varied beside the one whose value is wanted."""
        if self._faults:
            return
        for sweep in self._experiment.sweeps:
            if sweep.path != self._path(key):
                allowed = f"expected one value: set {sweep.key} to one of "
                allowed += ", ".join(sweep.texts)
                file = str(self._experiment.path)
                self._faults.append(Fault(file, f"vary.{sweep.key}", "varied", allowed))

    def _values(self, search: Search, *, is_rising: bool) -> Values | None:
        if search.first is None or search.last is None:
            return None
        try:
            return values_of(search.first, search.last, search.step, is_rising=is_rising)
        except RangeError as error:
            self._add(error.key, shown(error.value), error.allowed)
            return None

    def _check_ends(self, question: Question) -> None:
        """Find values that the key does not take, and conditions that the experiment lacks."""
        last = question.values.count - 1
        lowest, highest = (0, last) if question.direction == "largest" else (last, 0)
        for key, position in (("from", lowest), ("to", highest)):
            try:
                (trial,) = question.trials(position, 0, 1)
            except InputError as error:
                for fault in error.faults:
                    is_value = fault.key.startswith("vary.")
                    if is_value and "unknown key" in fault.allowed:
                        self._add_key(question.direction, question.key, fault.allowed)
                    elif is_value:
                        self._add(key, fault.value, fault.allowed)
                    elif fault.key == "run.engines" or fault.key == "theory.models":
                        self._add("engine", question.engine, fault.allowed)
                    else:
                        self._faults.append(fault)
                continue
            spoken = _spoken(trial)
            for each in question.conditions:
                try:
                    each.check(trial)
                    if spoken is not None and each.metric not in spoken:
                        raise ConditionError(
                            f"expected a metric that {trial.engine} speaks of: " + ", ".join(spoken)
                        )
                except ConditionError as error:
                    self._add("while", shown(str(each)), str(error))
        self._raise()

    def _add(self, key: str, value: object, allowed: str, *, rest: str = "") -> None:
        is_option = key in self._options
        file = ARGUMENTS if is_option or not self._has_table else str(self._experiment.path)
        name = key if file == ARGUMENTS else f"search.{key}"
        self._faults.append(Fault(file, f"{name}.{rest}" if rest else name, str(value), allowed))

    @property
    def _has_table(self) -> bool:
        return "search" in self._experiment.document

    def _raise(self) -> None:
        if self._faults:
            raise InputError(dict.fromkeys(self._faults))


def _spoken(trial: Trial) -> list[Metric] | None:
    """Return the metrics that a theory speaks of; None of an engine that has all."""
    family, _, model = trial.engine.partition("/")
    if family != THEORY:
        return None
    from ethermeter.engines.theory import metrics_of_model

    return metrics_of_model(trial, model)


def _keys(document: Tables, tops: Sequence[str]) -> list[str]:
    """Return the dotted keys of a file that can be varied."""
    found: list[str] = []

    def add(prefix: str, tree: object) -> None:
        if isinstance(tree, dict):
            for key, each in tree.items():
                add(f"{prefix}.{key}", each)
        elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
            for at, each in enumerate(tree):
                add(f"{prefix}.{each.get('name', at)}", each)
        else:
            found.append(prefix)

    for top in tops:
        if top in document:
            add(top, document[top])
    return found
