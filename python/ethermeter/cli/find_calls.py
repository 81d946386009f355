"""The command that finds how many calls fit on a segment, or between hosts."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.api.find.calls import CallsOptions, calls
from ethermeter.cli.command import Command, Values

if TYPE_CHECKING:
    from ethermeter.analysis.call_search import CallsAnswer
    from ethermeter.api.runs import Found

EXAMPLES = """\
  ethermeter find calls codec=g711 mos=4.0
  ethermeter find calls my-network.toml codec=g729a mos=3.6 pattern=brady-1968
  ethermeter find calls ieee-100 codec=opus bit-rate="32 kb/s" loss=1% delay="150 ms"
  ethermeter find calls schools-hub codec=g711 talkers=1 buffer="20 ms" --json
  ethermeter find calls my-network.toml from=phones to=gateway codec=g711 mos=4.0
  ethermeter find calls my-network.toml from=a to=b --set flows.load.arrivals.poisson_load=0.5
  ethermeter find calls codec=g711 mos=4.0 --write forty.toml
  ethermeter find calls codec=g711 mos=4.0 --out runs/telephones --csv"""


def blocks(found: "Found[CallsAnswer]", options: CallsOptions) -> Iterator[object]:
    """Yield what a terminal shows of a search for calls."""
    from ethermeter.cli import next_steps
    from ethermeter.present import calls as layout
    from ethermeter.present.runs import files

    yield from layout.calls(found.answer, file=options.write)
    yield from files(found.run)
    if options.write is None:
        yield from next_steps.first(next_steps.of_calls(found.answer, sys.argv[1:]))


def plain(found: "Found[CallsAnswer]") -> object:
    """Return the answer as JSON values."""
    import msgspec

    return msgspec.to_builtins(found.answer)


def rows(found: "Found[CallsAnswer]") -> Iterator[dict[str, object]]:
    """Yield a row for each number of calls that was tried."""
    import msgspec

    yield from map(msgspec.to_builtins, found.answer.tried)


def _values(found: "Found[CallsAnswer]") -> Iterator[dict[str, object]]:
    """Yield the number of calls, with the numbers between which it lies, and their quality."""
    answer = found.answer
    calls = {"value": answer.calls, "low": answer.sure, "high": answer.possible}
    rated = next((row for row in rows(found) if row["calls"] == answer.calls), {})
    yield rated | {"subject": answer.subject, "calls": calls}


def _names(_: CallsOptions) -> tuple[str, ...]:
    return (
        "calls",
        "margin",
        "mos",
        "rating",
        "loss",
        "delay",
        "buffer",
        "network_p50",
        "network_p99",
        "utilisation",
    )


_INSTEAD = {
    "--bit-rate": "bit-rate=RATE",
    "--from": "from=HOST",
    "--ip": "ip=ipv4|ipv6|none",
    "--network": "EXPERIMENT, with from=HOST and to=HOST",
    "--no-report": "none: a report is written",
    "--one-way": "talkers=1",
    "--replications": "replications=N",
    "--seed": "seed=N",
    "--segment": "EXPERIMENT",
    "--to": "to=HOST",
}
_SETTINGS = ("codec", "packet", "pattern", "mos", "loss", "delay", "buffer", "beyond", "duration")
COMMAND = Command(
    calls,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    values=Values(_values, ("subject",), names=_names, folder=lambda found, _: found.run.path),
    former=_INSTEAD | {f"--{name}": f"{name}=VALUE" for name in _SETTINGS},
)
