"""The command that rates admission of calls that come and go."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.output import print_json, show
from ethermeter.json_values import finite

if TYPE_CHECKING:
    from ethermeter.calls.admission import ByCalls, Outcome, Thresholds

EXAMPLES = """\
  ethermeter run voice-experimental --out runs/voice
  ethermeter voice admission runs/voice --offered 15,20,25
  ethermeter voice admission runs/g82 --series conversations --offered 30..40/3 --limit 1% --most 40
  ethermeter voice admission runs/g82 --series minimum --at "stations.frames.samples.least=64 B" \
--offered 20
  ethermeter voice admission runs/voice --offered 20 --listen "2 s" --pattern p59 \
--load 70% --json"""


def admission(
    run: options.RunPath,
    *,
    offered: Annotated[
        str,
        typer.Option(
            "--offered",
            metavar="LIST",
            help="Offered traffic in erlang, calls a second times their mean duration: one value, "
            "a,b,c or from..to/points.",
        ),
    ],
    limit: Annotated[
        str,
        typer.Option(
            "--limit",
            metavar="SHARE",
            help="Largest acceptable loss of samples, a fraction or in %.",
        ),
    ] = "1%",
    most: Annotated[
        str | None,
        typer.Option(
            "--most",
            metavar="N",
            show_default=False,
            help=(
                "Largest number of active calls. Unless given, the largest number at which the 95% "
                "interval of the loss is within the limit."
            ),
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="TIME",
            show_default=False,
            help="Time for which a host listens that counts calls; the length of the run's batches "
            "unless given. A host that measures load always listens for that length.",
        ),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern",
            metavar="NAME",
            help="Pattern of talk spurts by which calls are heard: brady-1968 or p59.",
        ),
    ] = "brady-1968",
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="SHARE",
            show_default=False,
            help=(
                "Load below which a host that measures load begins a call; the mean load at --most "
                "unless given."
            ),
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="NAME",
            show_default=False,
            help="Series to use, if several have voice.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="KEY=VALUE",
            show_default=False,
            help=(
                "Value of a key that the series varies besides the number of stations; can be "
                "given several times."
            ),
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compute loss and blocking of calls with and without admission control.

    The run varies the number of voice stations.
    """
    from ethermeter.calls.admission import Thresholds, outcomes, read
    from ethermeter.cli.voice_values import lists_of, numbers_of, one_of
    from ethermeter.voice import PATTERNS, heard

    talk = PATTERNS[one_of("--pattern", pattern, PATTERNS)]
    loads = lists_of({"--offered": ("offered", offered)})["--offered"]
    given = numbers_of(
        {
            "--limit": ("loss", limit),
            "--most": ("circuits", most),
            "--listen": ("listen", listen),
            "--load": ("loss", load),
        },
    )
    by_calls = read(run, series=series, at=_fixed(at or []))
    given = _completed(given, by_calls, {"--limit": limit, "--most": most, "--load": load})
    listen_s = given.get("--listen", by_calls.window_s)
    thresholds = Thresholds(
        limit=given["--limit"],
        most=int(given["--most"]),
        heard=float(heard(listen_s, talk_s=talk.talk_s, silence_s=talk.silence_s)),
        load=given["--load"],
    )
    found = outcomes(loads, by_calls, thresholds)
    if as_json:
        print_json(_as_json(str(run), by_calls, thresholds, listen_s, pattern, found))
        return
    from ethermeter.present.admission import admission as layout

    show(layout(by_calls, thresholds, found, listen_s=listen_s, pattern=pattern))


def _completed(
    given: Mapping[str, float], by_calls: "ByCalls", texts: Mapping[str, str | None]
) -> dict[str, float]:
    """Return the options; what is not given follows from the run.

    `texts`: options as they are written.

    Raises
    ------
    InputError
        If the run has no such number of calls or load, or none within the limit.

    """
    from ethermeter.cli.voice_values import refuse

    found = dict(given)
    if "--most" not in found:
        if not by_calls.has_intervals:
            refuse(
                "--most",
                "not given",
                f"a number from 1 to {by_calls.largest}: fewer than three replications have no "
                "intervals of loss",
            )
        found["--most"] = by_calls.most_within(found["--limit"])
        if not found["--most"]:
            refuse(
                "--limit",
                texts["--limit"] or "",
                f"one that is kept with {by_calls.simulated[0]} calls, the fewest of the run, or "
                "--most besides",
            )
    if not 1 <= found["--most"] <= by_calls.largest:
        refuse(
            "--most",
            texts["--most"] or "",
            f"from 1 to {by_calls.largest}, the largest number of stations of the run",
        )
    least_load, most_load = float(by_calls.load[0]), float(by_calls.load.max())
    found.setdefault("--load", float(by_calls.load[int(found["--most"])]))
    if not least_load <= found["--load"] <= most_load:
        refuse(
            "--load",
            texts["--load"] or "",
            f"from {least_load:.4g} to {most_load:.4g}, the mean loads of the run",
        )
    return found


def _fixed(words: list[str]) -> dict[str, str]:
    """Read KEY=VALUE; a value may stand in quotes."""
    from ethermeter.faults import Fault, InputError

    found: dict[str, str] = {}
    faults = []
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not key or not value:
            faults.append(Fault("command line", "--at", word, "KEY=VALUE"))
        elif key in found:
            faults.append(Fault("command line", "--at", word, f"{key} once"))
        found[key] = value.strip('"') if value.startswith('"') else value
    if faults:
        raise InputError(faults)
    return found


def _as_json(
    run: str,
    by_calls: "ByCalls",
    thresholds: "Thresholds",
    listen_s: float,
    pattern: str,
    found: "tuple[Outcome, ...]",
) -> dict[str, object]:
    columns = ("loss", "loss_low", "loss_high", "load", "deviation")
    return {
        "run": run,
        "series": by_calls.series,
        "limit": thresholds.limit,
        "most": thresholds.most,
        "count": {"listen_s": listen_s, "pattern": pattern, "heard": thresholds.heard},
        "load": {"listen_s": by_calls.window_s, "threshold": thresholds.load},
        "simulated": list(by_calls.simulated),
        "from_the_start": by_calls.is_from_the_start,
        "calls": [
            {
                "calls": calls,
                **{name: finite(float(getattr(by_calls, name)[calls])) for name in columns},
            }
            for calls in range(by_calls.largest + 1)
        ],
        "units": {"offered": "erlang", "listen_s": "s"},
        "outcomes": [
            {
                "offered": each.offered_erlangs,
                "rule": each.rule,
                "blocking": each.blocking,
                "mean_calls": each.mean_calls,
                "beyond_limit": {
                    key: finite(getattr(each, f"beyond{end}"))
                    for key, end in (("value", ""), ("low", "_low"), ("high", "_high"))
                },
                "mean_loss": finite(each.mean_loss),
                "over_most": each.crowded,
                "bound": each.bound,
                "cautions": _cautions(each),
            }
            for each in found
        ],
    }


def _cautions(outcome: "Outcome") -> list[str]:
    from ethermeter.metrics import Caution

    return [str(Caution.OUTSIDE_MODEL_RANGE)] if outcome.is_bounded else []
