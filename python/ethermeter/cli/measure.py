"""The command that measures: trials of the engine "live" between agents."""

import shlex
import sys
from collections.abc import Iterator

from ethermeter.api.measure import Measured, measure
from ethermeter.cli import run as of_runs
from ethermeter.cli.command import Command
from ethermeter.cli.guard import say
from ethermeter.json_values import plain as values

EXAMPLES = """\
  ethermeter measure wire-live --on testbed
  ethermeter measure my-network.toml --on hosts.toml --set run.replications=5
  ethermeter measure my-network.toml --on testbed,plain --set 'phases.transmit="2 s"'
  ethermeter measure my-network.toml --on testbed,plain,4
  ethermeter measure my-network.toml --on testbed --ip 6
  ethermeter measure my-network.toml --on loopback --json
  ethermeter measure wire-live --on testbed --capture
  ethermeter measure my-network.toml --on testbed --capture at=client \
octets=1514 size=1000
  ethermeter measure my-network.toml --on testbed --quick"""


def blocks(found: Measured, options: object) -> Iterator[object]:
    """Yield what a terminal shows of a measurement."""
    from ethermeter.analysis import live
    from ethermeter.analysis.claims import LIVE_FILE
    from ethermeter.blocks import Text
    from ethermeter.cli import next_steps
    from ethermeter.present import claims, measurement, points
    from ethermeter.present.bounds import bounds, deadlines
    from ethermeter.present.capacity import capacity
    from ethermeter.present.checks import checks
    from ethermeter.present.runs import files

    run = found.run
    estimated = run.estimated
    if found.study is None:
        yield from capacity(run.capacities)
        yield from deadlines(run.bounds())
        yield from points.run(estimated, run.flow_tables(estimated[: points.TABLE_ROWS]))
        yield from measurement.side_by_side(live.read_pairs(run.path))
        yield from measurement.agreement(live.read(run.path))
        yield from bounds(run.bounds())
    else:
        yield from points.series(estimated)
    yield from points.cautions(estimated)
    yield from checks(run.checks)
    if "live_claims" in run.files:
        study = str(run.directory.provenance().get("live_study"))
        yield from claims.measured_claims(run.claims(file=LIVE_FILE), study)
    drops = [each for of in found.accounts if of.reads_switches for each in of.drops]
    yield from measurement.drops(drops)
    yield from files(run)
    if found.captures:
        yield from measurement.captures(found.captures)
        first = shlex.quote(str(run.path / found.captures[0].file))
        yield Text(f"to explain one: ethermeter explain {first}")
    yield from next_steps.first(next_steps.of_measurement(run, sys.argv[1:]))


def plain(found: Measured) -> object:
    """Return the run as JSON values, with the captures if some were wanted."""
    from msgspec.structs import replace

    summary = found.run.summary()
    return values(summary if found.captures is None else replace(summary, captures=found.captures))


def rows(found: Measured) -> list[dict[str, object]]:
    """Return a row for each estimate."""
    return of_runs.rows(found.run)


def end(found: Measured, options: object) -> int:
    """Say what is not known, or was not recorded; return the exit code."""
    if found.captures == []:
        say(f"{found.run.path}: has no captures; --force measures it again, with captures")
    if beyond := sum(each.beyond_size for each in found.captures or ()):
        say(
            f"ethermeter: {beyond} frames arrived after a capture had reached its largest size and "
            "are counted only; size=MB allows more"
        )
    code = of_runs.end(found.run, options)
    for each in found.accounts:
        if each.unread:
            say(
                f"ethermeter: trial {each.trial}: what switches dropped is not known: {each.unread}"
            )
    return code


COMMAND = Command(
    measure,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    former={
        "--capture-at": "at=HOST",
        "--capture-octets": "octets=N",
        "--capture-size": "size=MB",
        "--full": "ethermeter study STUDY --on … --full",
        "--study": "ethermeter study STUDY --on …",
        "--testbed-hosts": "--on testbed,plain,N",
        "--to": "ethermeter probe HOST",
    },
)
