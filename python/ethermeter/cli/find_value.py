"""The command that searches the largest or smallest value with which conditions hold."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.find.value import ValueOptions, value
from ethermeter.cli.command import Command, Values
from ethermeter.cli.guard import FAILED, say

if TYPE_CHECKING:
    from ethermeter.analysis.value_search import SearchAnswer
    from ethermeter.api.runs import Found

EXAMPLES = """\
  ethermeter find value office --set network.classes=8 --while 'loss <= 0.1%' \
--largest flows.backup.arrivals.token_bucket.rate from='20 Mb/s' to='60 Mb/s' step='1 Mb/s'
  ethermeter find value office --set network.classes=1 --largest network.hosts.phone.count \
from=1 to=40 --while 'call: one_way_delay.p99 <= 10 ms' --while 'loss <= 0.1%'
  ethermeter find value buffer-sizing --smallest network.switches.switch.queue from=1 to=40 \
--while 'loss == 0'
  ethermeter find value my-network.toml --engine theory/queueing --json
  ethermeter find value my-network.toml --on testbed --set search.replications=10 --out found"""


def blocks(found: "Found[SearchAnswer]", options: ValueOptions) -> Iterator[object]:
    """Yield what a terminal shows of a search."""
    from ethermeter.api.experiments import override_texts
    from ethermeter.cli import next_steps
    from ethermeter.present import search as layout
    from ethermeter.present.runs import files

    yield from layout.search(found.answer)
    yield from files(found.run)
    settings = override_texts(options.overrides)
    yield from next_steps.first(
        next_steps.of_search(found.answer, str(options.experiment), settings, sys.argv[1:])
    )


def plain(found: "Found[SearchAnswer]") -> object:
    """Return the answer as JSON values."""
    import msgspec

    return msgspec.to_builtins(found.answer)


def rows(found: "Found[SearchAnswer]") -> Iterator[dict[str, object]]:
    """Yield a row for each value that was tried; its conditions have numbers, from 0 on."""
    import msgspec

    for point in found.answer.points:
        row = msgspec.to_builtins(point)
        yield row | {"conditions": dict(enumerate(row["conditions"]))}


def _values(found: "Found[SearchAnswer]") -> Iterator[dict[str, object]]:
    """Yield the answer: the last value that holds, and the values between which it lies."""
    answer = found.answer
    ends = {"low": answer.at_least, "high": answer.at_most}
    yield {"key": answer.key, "value": {"value": answer.estimate, **ends}}


def end(found: "Found[SearchAnswer]", options: object) -> int:
    """Say which trials failed; return the exit code."""
    for trial, why in found.run.failed.items():
        say(f"ethermeter: trial {trial} failed: {why}; it has no values")
    return FAILED if found.answer.outcome in ("undecided", "none") else 0


COMMAND = Command(
    value,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    end=end,
    values=Values(
        _values, ("key",), names=lambda _: ("value",), folder=lambda found, _: found.run.path
    ),
    former={
        "--confidence": "confidence=SHARE",
        "--from": "from=VALUE",
        "--step": "step=VALUE",
        "--to": "to=VALUE",
        "--replications": "--set search.replications=N",
        "--no-report": "none: a report is written",
    },
)
