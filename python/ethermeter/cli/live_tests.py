"""Experiments that are measured: one, or the live tests of a study, and how large they are."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ethermeter.cli.guard import say
from ethermeter.nodes import hosts_in
from ethermeter.studies import registry

if TYPE_CHECKING:
    from ethermeter.api import Loaded

QUICK = ("phases.transmit='600 ms'", "phases.measure='last 400 ms'")
"""What `--quick` lays over an experiment's file; what `--set` says comes after it."""
QUICK_PS = 600 * 10**9
"""How long a quick trial transmits [ps]."""


def load(
    names: Sequence[str],
    study: str | None,
    *,
    overrides: Sequence[str],
    quick: bool,
    full: bool,
    testbed_hosts: int | None,
) -> "Loaded":
    """Load what is measured: with the options of the same names, and the engine "live"."""
    from ethermeter import api
    from ethermeter.faults import InputError

    is_shortened = quick and (study is not None or _is_longer_than_quick(names[0], overrides))
    sized = (*(QUICK if is_shortened else ()), *overrides)
    sized = (*sized, *(_sized(names[0], sized, testbed_hosts) if testbed_hosts is not None else ()))
    loaded = api.Loaded(
        tuple(
            one
            for name, before in _subsets(names, study, full=full).items()
            for one in api.load(name, overrides=(*before, *sized)).experiments
        ),
        f"live-{study}" if study else None,
    )
    for one in loaded.experiments:
        if "live" not in one.engines:
            allowed = """expected "live" among them: --set 'run.engines=["simulation", "live"]'"""
            raise InputError.of(str(one.path), "run.engines", str(list(one.engines)), allowed)
    return loaded


def _is_longer_than_quick(name: str, overrides: Sequence[str]) -> bool:
    """Whether an experiment transmits for longer than a quick trial."""
    from ethermeter import api
    from ethermeter.experiment.phases import Phases
    from ethermeter.experiment.tables import read_table
    from ethermeter.faults import InputError

    (experiment,) = api.load(name, overrides=overrides).experiments
    for sweep in experiment.sweeps:
        if sweep.key.startswith("phases."):
            allowed = (
                "expected with an experiment that does not vary its phases; --set shortens one "
                "that does"
            )
            raise InputError.of(
                "command line", "--quick", f"given with {sweep.key} varied", allowed
            )
    phases = experiment.document.get("phases", {})
    if read_table(Phases, phases, file=name, within=("phases",)).transmit > QUICK_PS:
        return True
    say("ethermeter: --quick changes nothing: the experiment transmits for 0.6 s or less")
    return False


def named(experiment: str | None, study: str | None) -> tuple[str, ...]:
    """Return the experiment, or all live tests of the study."""
    from ethermeter.experiment import shipped
    from ethermeter.faults import InputError, choices

    if (experiment is None) == (study is None):
        given = "(neither)" if experiment is None else f"{experiment} --study {study}"
        raise InputError.of(
            "command line", "measure", given, "expected an experiment, or --study STUDY"
        )
    if experiment is not None:
        return (experiment,)
    if study not in registry.live_names():
        raise InputError.of(
            "command line", "--study", str(study), choices(study, registry.live_names())
        )
    return tuple(name for name in shipped() if name.startswith(f"live/{study}/"))


def _subsets(names: Sequence[str], study: str | None, *, full: bool) -> Mapping[str, Sequence[str]]:
    """Return what is set in each experiment before all else: the part of a study's live tests."""
    from ethermeter.faults import InputError

    if study is None:
        if full:
            allowed = "expected with --study: an experiment is measured as its file says"
            raise InputError.of("command line", "--full", "given", allowed)
        return dict.fromkeys(names, ())
    subset = registry.find(study).subset
    if full and not subset:
        say(f"ethermeter: --full changes nothing: {study} has no smaller set of points")
    return {name: () if full else subset.get(name.rpartition("/")[2], ()) for name in names}


def _sized(name: str, overrides: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the override that gives the one group of hosts the hosts of a testbed, if any."""
    from ethermeter import api
    from ethermeter.faults import InputError

    (experiment,) = api.load(name, overrides=overrides).experiments
    tables = experiment.document.get("network", {}).get("hosts", ())
    groups = [table["name"] for table in tables if "count" in table]
    if not tables:
        raise InputError.of(
            str(experiment.path), "network", "(missing)", "required with --testbed-hosts"
        )
    if len(groups) == 1:
        left = count - (len(tables) - 1)
        if left < 1:
            allowed = (
                f"expected at least {len(tables)}: a host of the group and {len(tables) - 1} others"
            )
            raise InputError.of("command line", "--testbed-hosts", str(count), allowed)
        return (f"network.hosts.{groups[0]}.count={left}",)
    needed = max(
        len(hosts_in(trial.scenario))
        for trial in api.load(name, overrides=overrides).plan(replications=1).trials
    )
    if needed > count:
        raise InputError.of(
            "command line",
            "--testbed-hosts",
            str(count),
            f"expected at least {needed}, the hosts of the experiment",
        )
    return ()


def study_of(names: Sequence[str]) -> str | None:
    """Return the study whose live tests these shipped experiments are; None if they are not."""
    parts = {tuple(name.split("/")[:2]) for name in names}
    return next((study for study in registry.live_names() if parts == {("live", study)}), None)
