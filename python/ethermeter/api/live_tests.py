"""Experiments that are measured: one, or the live tests of a study, and how large they are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ethermeter.nodes import hosts_in
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.api.experiments import Loaded
    from ethermeter.operation import Display

QUICK = ("phases.transmit='600 ms'", "phases.measure='last 400 ms'")
"""What a quick measurement lays over an experiment's file; overrides come after it."""
QUICK_PS = 600 * 10**9
"""How long a quick trial transmits [ps]."""


def load(
    names: Sequence[str],
    study: str | None,
    *,
    overrides: Sequence[str],
    quick: bool,
    full: bool = False,
    host_count: int | None = None,
    display: "Display",
) -> "Loaded":
    """Load what is measured, with the engine "live".

    Parameters
    ----------
    names, study
        An experiment, or the live tests of a study; None of an experiment.
    overrides
        As of `ethermeter.load`.
    quick
        Whether trials transmit for `QUICK_PS`.
    full
        Whether all points of a study's tests are measured.
    host_count
        Hosts of a testbed that is not built after the experiment.
    display
        Where is said what changes nothing.

    """
    from ethermeter.api.experiments import Loaded
    from ethermeter.api.experiments import load as load_experiment
    from ethermeter.faults import InputError

    is_shortened = quick and (
        study is not None or _is_longer_than_quick(names[0], overrides, display)
    )
    sized = (*(QUICK if is_shortened else ()), *overrides)
    sized = (*sized, *(_sized(names[0], sized, host_count) if host_count is not None else ()))
    loaded = Loaded(
        tuple(
            one
            for name, before in _subsets(names, study, full=full, display=display).items()
            for one in load_experiment(name, overrides=(*before, *sized)).experiments
        ),
        f"live-{study}" if study else None,
    )
    for one in loaded.experiments:
        if "live" not in one.engines:
            allowed = 'expected "live" among them: run.engines=["simulation", "live"]'
            raise InputError.of(str(one.path), "run.engines", str(list(one.engines)), allowed)
    return loaded


def _is_longer_than_quick(name: str, overrides: Sequence[str], display: "Display") -> bool:
    """Whether an experiment transmits for longer than a quick trial."""
    from ethermeter.api.experiments import load as load_experiment
    from ethermeter.experiment.phases import Phases
    from ethermeter.experiment.tables import read_table
    from ethermeter.faults import InputError

    (experiment,) = load_experiment(name, overrides=overrides).experiments
    for sweep in experiment.sweeps:
        if sweep.key.startswith("phases."):
            allowed = "an experiment that does not vary its phases; set them of one that does"
            raise InputError.of_argument("quick", f"given with {sweep.key} varied", allowed)
    phases = experiment.document.get("phases", {})
    if read_table(Phases, phases, file=name, within=("phases",)).transmit > QUICK_PS:
        return True
    display.say("ethermeter: quick changes nothing: the experiment transmits for 0.6 s or less")
    return False


def tests_of(study: str) -> tuple[str, ...]:
    """Return the live tests of a study; raises InputError of one that has none."""
    from ethermeter.experiment import shipped
    from ethermeter.faults import InputError, choices

    if study not in registry.live_names():
        raise InputError.of_argument("study", study, choices(study, registry.live_names()))
    return tuple(name for name in shipped() if name.startswith(f"live/{study}/"))


def _subsets(
    names: Sequence[str], study: str | None, *, full: bool, display: "Display"
) -> Mapping[str, Sequence[str]]:
    """Return what is set in each experiment before all else: the part of a study's live tests."""
    if study is None:
        return dict.fromkeys(names, ())
    subset = registry.find(study).subset
    if full and not subset:
        display.say(f"ethermeter: full changes nothing: {study} has no smaller set of points")
    return {name: () if full else subset.get(name.rpartition("/")[2], ()) for name in names}


def _sized(name: str, overrides: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the override that gives the one group of hosts the hosts of a testbed, if any."""
    from ethermeter.api.experiments import load as load_experiment
    from ethermeter.faults import InputError

    (experiment,) = load_experiment(name, overrides=overrides).experiments
    tables = experiment.document.get("network", {}).get("hosts", ())
    groups = [table["name"] for table in tables if "count" in table]
    if not tables:
        raise InputError.of(
            str(experiment.path), "network", "(missing)", "required on a testbed of so many hosts"
        )
    if len(groups) == 1:
        left = count - (len(tables) - 1)
        if left < 1:
            allowed = (
                f"expected at least {len(tables)}: a host of the group and {len(tables) - 1} others"
            )
            raise InputError.of_argument("on", f"testbed,plain,{count}", allowed)
        return (f"network.hosts.{groups[0]}.count={left}",)
    needed = max(
        len(hosts_in(trial.scenario))
        for trial in load_experiment(name, overrides=overrides).plan(replications=1).trials
    )
    if needed > count:
        allowed = f"expected at least {needed}, the hosts of the experiment"
        raise InputError.of_argument("on", f"testbed,plain,{count}", allowed)
    return ()


def study_of(names: Sequence[str]) -> str | None:
    """Return the study whose live tests these shipped experiments are; None if they are not."""
    parts = {tuple(name.split("/")[:2]) for name in names}
    return next((study for study in registry.live_names() if parts == {("live", study)}), None)
