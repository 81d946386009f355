"""The command that measures: trials of the engine "live" between agents."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ethermeter.analysis.claims import LIVE_FILE
from ethermeter.cli import capturing, options, running
from ethermeter.cli import quick as hosts_alone
from ethermeter.cli.bounds import print_bounds
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json
from ethermeter.nodes import hosts_in
from ethermeter.studies import registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ethermeter.analysis.claims import Claim
    from ethermeter.analysis.estimates import Point
    from ethermeter.analysis.losses import Drops
    from ethermeter.engines.live import Captures, Place

EXAMPLES = """\
  ethermeter measure wire-live --testbed
  ethermeter measure my-network.toml --hosts hosts.toml --replications 5
  ethermeter measure my-network.toml --testbed --plain --set 'phases.transmit="2 s"'
  ethermeter measure my-network.toml --testbed-hosts 4
  ethermeter measure my-network.toml --testbed --ip 6
  ethermeter measure my-network.toml --loopback --json
  ethermeter measure wire-live --testbed --capture
  ethermeter measure my-network.toml --testbed --capture-at client \
--capture-octets 1514 --capture-size 1000
  ethermeter measure my-network.toml --testbed --quick
  ethermeter measure --study erg --testbed
  ethermeter measure --study boggs1988 --testbed --full
  ethermeter measure --study hughesjones2000 --testbed --quick
  ethermeter measure --to 192.0.2.7
  ethermeter measure --to 192.0.2.7 --by iperf3 --streams 4 --json
  ethermeter measure --to 192.0.2.7 --every 5m --for 24h --out runs/uplink"""
IPS = (4, 6)
MOST_DROPS = 5
"""Places between hosts at which frames were dropped that are printed."""
QUICK = ("phases.transmit='600 ms'", "phases.measure='last 400 ms'")
"""What `--quick` lays over an experiment's file; what `--set` says comes after it."""
QUICK_PS = 600 * 10**9
"""How long a quick trial transmits [ps]."""


def measure(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="[EXPERIMENT]",
            show_default=False,
            help="An experiment file, or the name of a shipped one.",
        ),
    ] = None,
    *,
    study: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="STUDY",
            show_default=False,
            help=(
                "All live tests of a published study as one run: "
                f"{', '.join(registry.live_names())}."
            ),
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Transmit for 0.6 s a trial and measure the last 0.4 s: wider intervals.",
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help=(
                "With --study: all points of its live tests, where a part of them is measured "
                "otherwise."
            ),
        ),
    ] = False,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts",
            metavar="FILE",
            show_default=False,
            help="Measure between the agents of these hosts.",
        ),
    ] = None,
    testbed: Annotated[
        bool,
        typer.Option(
            "--testbed",
            help=(
                "Build the experiment's network out of namespaces on this machine and measure "
                "there. Needs root."
            ),
        ),
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help=(
                "With --testbed: all hosts at one switch as fast as the machine is, whatever the "
                "network says."
            ),
        ),
    ] = False,
    wires: Annotated[
        Literal["shaped", "relay"],
        typer.Option(
            "--wires",
            help=(
                "Of a testbed: shaped (rates as of a wire), or relayed (delays of frames too; "
                "takes a processor)."
            ),
        ),
    ] = "shaped",
    testbed_hosts: Annotated[
        int | None,
        typer.Option(
            "--testbed-hosts",
            min=2,
            max=64,
            metavar="N",
            show_default=False,
            help="In place of --testbed: N hosts at one switch, unshaped. The group of hosts of "
            "the experiment gets the hosts that it does not name; without a group these stay idle.",
        ),
    ] = None,
    ip: Annotated[
        int,
        typer.Option(
            "--ip",
            min=4,
            max=6,
            metavar="4|6",
            help="Of a testbed: with which addresses of IP hosts take part.",
        ),
    ] = 4,
    loopback: Annotated[
        bool,
        typer.Option(
            "--loopback", help="Measure between agents on this machine's loopback addresses."
        ),
    ] = False,
    capture: Annotated[
        bool,
        typer.Option(
            "--capture",
            help=(
                "Record every frame of the hosts that take part, for ethermeter explain. With "
                "--testbed or --loopback; needs root."
            ),
        ),
    ] = False,
    capture_at: Annotated[
        list[str] | None,
        typer.Option(
            "--capture-at",
            metavar="HOST",
            show_default=False,
            help="Record at this host only; can be given several times.",
        ),
    ] = None,
    capture_octets: Annotated[
        int | None,
        typer.Option(
            "--capture-octets",
            min=64,
            max=65_536,
            metavar="N",
            show_default=False,
            help="Octets kept of each frame; 128 unless given.",
        ),
    ] = None,
    capture_size: Annotated[
        int | None,
        typer.Option(
            "--capture-size",
            min=1,
            max=1_000_000,
            metavar="MB",
            show_default=False,
            help=(
                "Size of a capture at most; 256 unless given. Frames that come later are counted "
                "only."
            ),
        ),
    ] = None,
    to: hosts_alone.To = None,
    by: hosts_alone.By = None,
    origin: hosts_alone.Origin = None,
    duration: hosts_alone.Duration = None,
    streams: hosts_alone.Streams = None,
    rate: hosts_alone.Rate = None,
    key_file: hosts_alone.KeyFile = None,
    every: hosts_alone.Every = None,
    until: hosts_alone.For = None,
    as_csv: hosts_alone.Csv = False,
    overrides: options.Overrides = None,
    jobs: options.Jobs = None,
    seed: options.Seed = None,
    replications: options.Replications = None,
    out: options.Out = None,
    resume: options.Resume = False,
    force: options.Force = False,
    no_report: options.NoReport = False,
    as_json: options.Json = False,
) -> None:
    """Measure an experiment between real hosts, and simulate it too if its file asks for both.

    Exit code 1 if an agent was lost in a trial: that one has no values, all others are there. 2 if
    it cannot be measured, 130 after Ctrl-C, 143 after SIGTERM; finished trials are then kept.
    """
    if to is not None:
        others: dict[str, object] = {
            "EXPERIMENT": experiment,
            "--study": study,
            "--quick": quick,
            "--testbed": testbed,
            "--testbed-hosts": testbed_hosts,
            "--loopback": loopback,
            "--capture": capture,
            "--capture-at": capture_at,
            "--set": overrides,
        }
        hosts_alone.refuse(others, "expected without --to: it measures without an experiment")
        hosts_alone.quick(
            to,
            by=by,
            origin=origin,
            duration=duration,
            streams=streams,
            rate=rate,
            key_file=key_file,
            hosts=hosts,
            every=every,
            until=until,
            out=out,
            as_json=as_json,
            as_csv=as_csv,
        )
        return
    of_hosts: dict[str, object] = {
        "--by": by,
        "--from": origin,
        "--time": duration,
        "--streams": streams,
        "--rate": rate,
        "--key-file": key_file,
        "--every": every,
        "--for": until,
        "--csv": as_csv,
    }
    hosts_alone.refuse(of_hosts, "expected with --to HOST only")
    from ethermeter import api
    from ethermeter.analysis import accounts, live
    from ethermeter.faults import Fault, InputError
    from ethermeter.run import RunOptions

    captures = capturing.captures_of(
        capture=capture,
        at=capture_at or (),
        octets=capture_octets,
        megabytes=capture_size,
        hosts=hosts,
    )
    names = _named(experiment, study)
    testbed, plain = _testbed(
        testbed_hosts, testbed=testbed, plain=plain, loopback=loopback, hosts=hosts, study=study
    )
    place = place_of(
        hosts,
        testbed=testbed,
        plain=plain,
        loopback=loopback,
        wires=wires,
        captures=captures,
        ip=ip,
        least=testbed_hosts or 0,
    )
    is_shortened = quick and (study is not None or _is_longer_than_quick(names[0], overrides or ()))
    sized = (*(QUICK if is_shortened else ()), *(overrides or ()))
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
            raise InputError([Fault(str(one.path), "run.engines", str(list(one.engines)), allowed)])
    if ip != IPS[0] and any("simulation" in one.engines for one in loaded.experiments):
        say(
            "ethermeter: what is simulated has headers of IPv4: of one length of data, frames are "
            "20 octets shorter than those measured"
        )
    run_options = RunOptions(
        jobs=jobs,
        resume=resume,
        force=force,
        command=tuple(sys.argv),
        seed=seed,
        live_study=study or _study_of(names),
    )
    summary = running.run_and_sum_up(
        loaded, run_options, replications=replications, out=out, report=not no_report, place=place
    )
    found = accounts.read(summary.run.path)
    if as_json:
        taken = (
            {"captures": capturing.tell_captures(summary.run.path, as_json=True)}
            if captures is not None
            else {}
        )
        print_json(summary.as_json() | taken)
    else:
        if study is None:
            running.print_points(summary.points)
            if (file := summary.written.get("live_agreement")) is not None:
                running.print_side_by_side(live.read_pairs(summary.run.path), file)
                running.print_live_agreement(live.read(summary.run.path), file)
            print_bounds(summary.answers)
        else:
            _print_series(summary.points)
        running.print_run_cautions(summary.points)
        if "live_claims" in summary.written:
            _print_claims(summary.claims(LIVE_FILE), run_options.live_study)
        print_drops([each for of in found if of.reads_switches for each in of.drops])
        running.print_files(summary)
        if captures is not None:
            capturing.tell_captures(summary.run.path, as_json=False)
    for trial, why in summary.failed.items():
        say(f"ethermeter: trial {trial}: {why}; it has no values")
    for each in found:
        if each.unread:
            say(
                f"ethermeter: trial {each.trial}: what switches dropped is not known: {each.unread}"
            )
    if summary.failed:
        raise typer.Exit(FAILED)


def _print_series(points: "Sequence[Point]") -> None:
    """Print the points of every test of a study in tables of their own."""
    for name in dict.fromkeys(point.series for point in points):
        typer.echo(f"{name}:")
        running.print_points([point for point in points if point.series == name])
        typer.echo()


def print_drops(drops: "Sequence[Drops]") -> None:
    """Print what was dropped between hosts, all trials together, the most first."""
    frames: dict[tuple[str, str, str], int] = {}
    missing: dict[tuple[str, str, str], int] = {}
    for each in drops:
        where = each.place, each.at, each.towards
        frames[where] = frames.get(where, 0) + round(each.frames)
        missing[where] = missing.get(where, 0) + round(each.missing)
    for place, at, towards in sorted(frames, key=lambda where: -frames[where])[:MOST_DROPS]:
        what = "switch" if place == "switch" else "wire from"
        of = place, at, towards
        typer.echo(
            f"{what} {at} towards {towards}: dropped {frames[of]} frames; streams that pass miss "
            f"{missing[of]} messages"
        )
    if len(frames) > MOST_DROPS:
        typer.echo(f"… {len(frames) - MOST_DROPS} more places in the report")


def _print_claims(claims: "Sequence[Claim]", study: str | None) -> None:
    """Print the published numbers of measured points, and the number of the others."""
    measured = [claim for claim in claims if claim.verdict != "not-run"]
    if measured:
        running.print_claims(measured)
    if others := len(claims) - len(measured):
        typer.echo(
            f"{others} published numbers of {study} are of other tests or points: ethermeter "
            f"measure --study {study} has all"
        )


def _is_longer_than_quick(name: str, overrides: "Sequence[str]") -> bool:
    """Whether an experiment transmits for longer than a quick trial."""
    from ethermeter import api, units
    from ethermeter.experiment.phases import Phases
    from ethermeter.faults import Fault, InputError

    (experiment,) = api.load(name, overrides=overrides).experiments
    for sweep in experiment.sweeps:
        if sweep.key.startswith("phases."):
            allowed = (
                "expected with an experiment that does not vary its phases; --set shortens one "
                "that does"
            )
            raise InputError(
                [Fault("command line", "--quick", f"given with {sweep.key} varied", allowed)]
            )
    phases = experiment.document.get("phases", {})
    if (
        units.time_ps(
            phases.get("transmit", Phases.model_fields["transmit"].default),
            most_ps=units.LONGEST_TRIAL_PS,
        )
        > QUICK_PS
    ):
        return True
    say("ethermeter: --quick changes nothing: the experiment transmits for 0.6 s or less")
    return False


def _named(experiment: str | None, study: str | None) -> tuple[str, ...]:
    """Return the experiment, or all live tests of the study."""
    from ethermeter.experiment import shipped
    from ethermeter.faults import Fault, InputError

    if (experiment is None) == (study is None):
        given = "(neither)" if experiment is None else f"{experiment} --study {study}"
        raise InputError(
            [Fault("command line", "measure", given, "expected an experiment, or --study STUDY")]
        )
    if experiment is not None:
        return (experiment,)
    if study not in registry.live_names():
        raise InputError(
            [
                Fault(
                    "command line",
                    "--study",
                    str(study),
                    f"expected one of {', '.join(registry.live_names())}",
                )
            ]
        )
    return tuple(name for name in shipped() if name.startswith(f"live/{study}/"))


def _subsets(
    names: "Sequence[str]", study: str | None, *, full: bool
) -> "Mapping[str, Sequence[str]]":
    """Return what is set in each experiment before all else: the part of a study's live tests."""
    from ethermeter.faults import Fault, InputError

    if study is None:
        if full:
            allowed = "expected with --study: an experiment is measured as its file says"
            raise InputError([Fault("command line", "--full", "given", allowed)])
        return dict.fromkeys(names, ())
    subset = registry.find(study).subset
    if full and not subset:
        say(f"ethermeter: --full changes nothing: {study} has no smaller set of points")
    return {name: () if full else subset.get(name.rpartition("/")[2], ()) for name in names}


def _testbed(
    count: int | None,
    *,
    testbed: bool,
    plain: bool,
    loopback: bool,
    hosts: Path | None,
    study: str | None,
) -> tuple[bool, bool]:
    """Return whether a testbed is wanted, and whether unshaped; `--testbed-hosts` implies both."""
    from ethermeter.faults import Fault, InputError

    if count is None:
        return testbed, plain
    others = [
        ("--testbed", testbed),
        ("--plain", plain),
        ("--loopback", loopback),
        ("--hosts", hosts is not None),
        ("--study", bool(study)),
    ]
    if given := [name for name, there in others if there]:
        allowed = "expected without them: it is a place of its own, for one experiment"
        raise InputError(
            [Fault("command line", "--testbed-hosts", f"given with {' '.join(given)}", allowed)]
        )
    return True, True


def _sized(name: str, overrides: "Sequence[str]", count: int) -> tuple[str, ...]:
    """Return the override that gives the one group of hosts the hosts of a testbed, if any."""
    from ethermeter import api
    from ethermeter.faults import Fault, InputError

    (experiment,) = api.load(name, overrides=overrides).experiments
    tables = experiment.document.get("network", {}).get("hosts", ())
    groups = [table["name"] for table in tables if "count" in table]
    if not tables:
        raise InputError(
            [Fault(str(experiment.path), "network", "(missing)", "required of what is measured")]
        )
    if len(groups) == 1:
        left = count - (len(tables) - 1)
        if left < 1:
            allowed = (
                f"expected at least {len(tables)}: a group and {len(tables) - 1} hosts beside it"
            )
            raise InputError([Fault("command line", "--testbed-hosts", str(count), allowed)])
        return (f"network.hosts.{groups[0]}.count={left}",)
    needed = max(
        len(hosts_in(trial.scenario))
        for trial in api.load(name, overrides=overrides).plan(replications=1).trials
    )
    if needed > count:
        raise InputError(
            [
                Fault(
                    "command line",
                    "--testbed-hosts",
                    str(count),
                    f"expected at least {needed}, the hosts of the experiment",
                )
            ]
        )
    return ()


def _study_of(names: "Sequence[str]") -> str | None:
    """Return the study whose live tests these shipped experiments are; None if they are not."""
    parts = {tuple(name.split("/")[:2]) for name in names}
    return next((study for study in registry.live_names() if parts == {("live", study)}), None)


def place_of(
    hosts: Path | None,
    *,
    testbed: bool,
    plain: bool,
    loopback: bool,
    wires: Literal["shaped", "relay"],
    captures: "Captures | None",
    ip: int,
    least: int,
) -> "Place":
    """Return where is measured: hosts, a testbed or the loopback interface.

    Raises InputError unless exactly one of them is wanted, with options that go with it.
    """
    from ethermeter import hosts_file
    from ethermeter.engines.live import Hosts, Local
    from ethermeter.faults import Fault, InputError

    if (hosts is not None) + testbed + loopback != 1:
        given = [
            name
            for name, there in (
                ("--hosts", hosts is not None),
                ("--testbed", testbed),
                ("--loopback", loopback),
            )
            if there
        ]
        allowed = "expected one of --hosts FILE, --testbed and --loopback: where to measure"
        raise InputError(
            [Fault("command line", "measure", " ".join(given) or "(none of them)", allowed)]
        )
    if plain and not testbed:
        raise InputError(
            [Fault("command line", "--plain", "given", "expected with --testbed only")]
        )
    if ip not in IPS:
        raise InputError([Fault("command line", "--ip", str(ip), "expected 4 or 6")])
    if ip != IPS[0] and not testbed:
        why = (
            "its file says each host's address"
            if hosts is not None
            else "the loopback interface has one address of IPv6, ::1, for all hosts"
        )
        raise InputError(
            [Fault("command line", "--ip", str(ip), f"expected with --testbed only: {why}")]
        )
    if hosts is not None:
        return Hosts(hosts_file.read(hosts).laboratory())
    if testbed:
        from ethermeter.testbed.commands import require

        require("ip", "tc", "ethtool")
        return Local("plain" if plain else "testbed", wires, captures, ip, least)
    return Local("loopback", captures=captures)
