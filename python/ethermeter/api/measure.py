"""Measuring an experiment between real hosts."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.arguments import (
    Experiment,
    FailIf,
    Force,
    Jobs,
    Out,
    Overrides,
    Report,
    Somewhere,
)
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.accounts import Account
    from ethermeter.api.experiments import Loaded
    from ethermeter.api.runs import Run
    from ethermeter.engines.live import Hosts, Local
    from ethermeter.execution import Execution
    from ethermeter.store.captures import Captured

Capture = Annotated[
    bool,
    Argument(
        "On a testbed or loopback: record every frame of all hosts, for ethermeter explain. Needs "
        "root."
    ),
]
CaptureAt = Annotated[
    Sequence[str],
    Argument(
        "Record at this host only; can be given several times.",
        "HOST",
        "hosts",
        is_setting=True,
    ),
]
CaptureOctets = Annotated[
    int | None,
    Argument(
        "Octets that are kept of each frame of a capture; 128 unless given.",
        "N",
        least=64,
        most=65_536,
        is_setting=True,
    ),
]
CaptureSize = Annotated[
    int | None,
    Argument(
        "Largest size of a capture; 256 unless given. Later frames are only counted.",
        "MB",
        least=1,
        most=1_000_000,
        is_setting=True,
    ),
]


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Options of `measure`."""

    experiment: Experiment
    _: KW_ONLY
    on: Somewhere
    ip: Annotated[
        int, Argument("On a testbed: IP version of the hosts' addresses.", "4|6", least=4, most=6)
    ] = 4
    quick: Annotated[
        bool,
        Argument("Transmit for 0.6 s a trial and measure the last 0.4 s: wider intervals."),
    ] = False
    capture: Capture = False
    capture_at: CaptureAt = ()
    capture_octets: CaptureOctets = None
    capture_size: CaptureSize = None
    overrides: Overrides = ()
    jobs: Jobs = None
    out: Out = None
    force: Force = False
    report: Report = True
    fail_if: FailIf = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured: the run, and what agents and switches reported besides its metrics.

    `captures`: what was recorded; None if nothing was wanted. `study`: whose live tests these are.
    """

    run: "Run"
    accounts: "Sequence[Account]"
    captures: "Sequence[Captured] | None" = None
    study: str | None = None


@operation(MeasureOptions)
def measure(options: MeasureOptions, display: Display) -> Measured:
    """Measure an experiment between real hosts, and simulate it too if its file asks for both.

    Exit code 1 if an agent was lost in a trial, which then has no values; all other trials have
    theirs. 2 if the experiment cannot be measured, 130 after Ctrl-C, 143 after SIGTERM; finished
    trials are kept.

    Raises
    ------
    InputError
        With every fault of the experiment, or if it cannot be measured there.
    RunError, TrialError
        If results cannot be written, or a trial broke off.

    """
    from ethermeter.api import live_tests
    from ethermeter.api.captures import captures_of
    from ethermeter.api.checks import checked, require
    from ethermeter.api.experiments import override_texts
    from ethermeter.api.venues import place_of, venue_of, wires_for
    from ethermeter.execution import Execution

    venue = venue_of(str(options.on))
    captures = captures_of(
        capture=options.capture,
        capture_at=options.capture_at,
        capture_octets=options.capture_octets,
        capture_size=options.capture_size,
        is_local=venue.kind != "hosts",
    )
    name = str(options.experiment)
    loaded = live_tests.load(
        (name,),
        None,
        overrides=override_texts(options.overrides),
        quick=options.quick,
        host_count=venue.host_count,
        display=display,
    )
    place = place_of(venue, wires=wires_for(loaded), captures=captures, ip=options.ip)
    require(options.fail_if, loaded)
    execution = Execution(
        jobs=options.jobs,
        force=options.force,
        command=display.command,
        live_study=live_tests.study_of((name,)),
    )
    found = measured(
        loaded, execution, place, out=options.out, report=options.report, display=display
    )
    run = checked(found.run, options.fail_if)
    if captures is None:
        return Measured(run, found.accounts)
    from ethermeter.store.captures import read

    return Measured(run, found.accounts, read(run.path))


def measured(
    loaded: "Loaded",
    execution: "Execution",
    place: "Hosts | Local",
    *,
    out: Path | None,
    report: bool = True,
    display: Display,
) -> Measured:
    """Measure what was loaded; `execution`, `out` and `report` as of `api.runs.executed`."""
    from ethermeter.analysis import accounts
    from ethermeter.api.runs import executed
    from ethermeter.api.venues import SHORTER

    is_simulated = any("simulation" in one.engines for one in loaded.experiments)
    if place.has_ipv6 and is_simulated:
        display.say(f"ethermeter: {SHORTER}")
    run = executed(loaded, execution, out=out, report=report, place=place, display=display)
    return Measured(run, accounts.read(run.path))
