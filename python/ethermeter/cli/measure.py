"""The command that measures: trials of the engine "live" between agents."""

import sys
from typing import Annotated, Literal

import typer

from ethermeter.cli import capturing, completion, options
from ethermeter.cli import quick as hosts_alone
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.output import print_json, show
from ethermeter.studies import registry

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


def measure(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="[EXPERIMENT]",
            show_default=False,
            help="An experiment file, or the name of a shipped one.",
            autocompletion=completion.experiments,
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
            autocompletion=completion.live_studies,
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
                "With --study: all points of its live tests; without, some tests measure a part of "
                "them."
            ),
        ),
    ] = False,
    hosts: options.Hosts = None,
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
                "With --testbed: all hosts at one switch, as fast as the machine allows; the "
                "experiment's switches and links are ignored."
            ),
        ),
    ] = False,
    wires: Annotated[
        Literal["shaped", "relay"],
        typer.Option(
            "--wires",
            help=(
                "With --testbed: links are shaped (rates only), or a relay process delays each "
                "frame as well and takes a processor."
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
            help="Instead of --testbed: N hosts at one switch, unshaped. Hosts that the experiment "
            "does not name join its group of hosts; without a group they stay idle.",
        ),
    ] = None,
    ip: Annotated[
        int,
        typer.Option(
            "--ip",
            min=4,
            max=6,
            metavar="4|6",
            help="With --testbed: IP version of the hosts' addresses.",
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
                "With --testbed or --loopback: record every frame of all hosts, for ethermeter "
                "explain. Needs root."
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
            autocompletion=completion.hosts,
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
            help="Octets that are kept of each frame; 128 unless given.",
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
            help=("Largest size of a capture; 256 unless given. Later frames are only counted."),
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

    Exit code 1 if an agent was lost in a trial, which then has no values; all other trials have
    theirs. 2 if the experiment cannot be measured, 130 after Ctrl-C, 143 after SIGTERM; finished
    trials are kept.
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
    from ethermeter.analysis import accounts, live
    from ethermeter.analysis.claims import LIVE_FILE
    from ethermeter.cli import live_tests, next_steps, summary, venues
    from ethermeter.present import claims, measurement, points
    from ethermeter.present.bounds import bounds
    from ethermeter.run import RunOptions

    captures = capturing.captures_of(
        capture=capture,
        at=capture_at or (),
        octets=capture_octets,
        megabytes=capture_size,
        hosts=hosts,
    )
    testbed, plain = venues.testbed_of(
        testbed_hosts, testbed=testbed, plain=plain, loopback=loopback, hosts=hosts, study=study
    )
    names = live_tests.named(experiment, study)
    place = venues.place_of(
        hosts,
        testbed=testbed,
        plain=plain,
        loopback=loopback,
        wires=wires,
        captures=captures,
        ip=ip,
        least=testbed_hosts or 0,
    )
    loaded = live_tests.load(
        names,
        study,
        overrides=overrides or (),
        quick=quick,
        full=full,
        testbed_hosts=testbed_hosts,
    )
    if place.has_ipv6 and any("simulation" in one.engines for one in loaded.experiments):
        say(f"ethermeter: {venues.SHORTER}")
    run_options = RunOptions(
        jobs=jobs,
        resume=resume,
        force=force,
        command=tuple(sys.argv),
        seed=seed,
        live_study=study or live_tests.study_of(names),
    )
    summed = summary.run_and_sum_up(
        loaded, run_options, replications=replications, out=out, report=not no_report, place=place
    )
    found = accounts.read(summed.run.path)
    if as_json:
        taken = (
            {"captures": capturing.tell_captures(summed.run.path, as_json=True)}
            if captures is not None
            else {}
        )
        print_json(summed.as_json() | taken)
    else:
        estimated = summed.points
        if study is None:
            tables = summed.flow_tables(estimated[: points.TABLE_ROWS])
            show(points.run(estimated, tables))
            show(measurement.side_by_side(live.read_pairs(summed.run.path)))
            show(measurement.agreement(live.read(summed.run.path)))
            show(bounds(summed.answers))
        else:
            show(points.series(estimated))
        show(points.cautions(estimated))
        if "live_claims" in summed.written:
            show(claims.measured_claims(summed.claims(LIVE_FILE), run_options.live_study))
        show(measurement.drops([each for of in found if of.reads_switches for each in of.drops]))
        summary.print_files(summed)
        if captures is not None:
            capturing.tell_captures(summed.run.path, as_json=False)
        next_steps.print_steps(next_steps.of_measurement(summed, sys.argv[1:]))
    summary.say_failed(summed)
    for each in found:
        if each.unread:
            say(
                f"ethermeter: trial {each.trial}: what switches dropped is not known: {each.unread}"
            )
    if summed.failed:
        raise typer.Exit(FAILED)
