"""The command that runs an experiment."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.run import RunOptions, run
from ethermeter.cli.command import Command
from ethermeter.cli.guard import FAILED, again, say, verdict
from ethermeter.json_values import plain as values

if TYPE_CHECKING:
    from ethermeter.api.runs import Run

EXAMPLES = """\
  ethermeter run poisson-load
  ethermeter run my-network.toml --jobs 2 --out runs/first
  ethermeter run my-network.toml --set stations.0.count=12 --set 'phases.transmit="2 s"'
  ethermeter run my-network.toml --set run.replications=5 --set seed=7
  ethermeter run my-network.toml --jobs tcp://10.0.0.1:8786 --json"""


def blocks(found: "Run", options: RunOptions) -> Iterator[object]:
    """Yield what a terminal shows of a run."""
    from ethermeter.api.experiments import load, override_texts
    from ethermeter.cli import next_steps
    from ethermeter.present import points
    from ethermeter.present.bounds import bounds, deadlines
    from ethermeter.present.capacity import capacity
    from ethermeter.present.checks import checks
    from ethermeter.present.responders import responders
    from ethermeter.present.runs import files

    estimated = found.estimated
    yield from capacity(found.capacities)
    yield from deadlines(found.bounds())
    yield from points.run(estimated, found.flow_tables(estimated[: points.TABLE_ROWS]))
    yield from responders(found)
    yield from bounds(found.bounds())
    yield from points.cautions(estimated)
    yield from checks(found.checks)
    yield from files(found)
    loaded = load(options.experiment, overrides=options.overrides)
    words = [
        "run",
        str(options.experiment),
        *next_steps.set_words(override_texts(options.overrides)),
    ]
    yield from next_steps.first(next_steps.of_run(found, loaded.experiments[0], words))


def end(found: "Run", options: object) -> int:
    """Say which trials failed, and how they are repeated; return the exit code, by checks too."""
    from ethermeter.store.recorder import can_repeat

    for trial, why in found.failed.items():
        say(f"ethermeter: trial {trial} failed: {why}; it has no values")
    if can_repeat(found.path):
        say(f"ethermeter: to repeat what failed: {again()}")
    return FAILED if found.failed else verdict(found.checks)


def rows(found: "Run") -> list[dict[str, object]]:
    """Return a row for each estimate of a run."""
    table = found.frame(library="arrow").to_pylist()
    return [row for row in table if row["value"] is not None and row["value"] == row["value"]]


COMMAND = Command(
    run, EXAMPLES, blocks=blocks, plain=lambda found: values(found.summary()), rows=rows, end=end
)
