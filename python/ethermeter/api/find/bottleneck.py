"""Searching the stage that holds a transfer back."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from ethermeter.api.arguments import Force, Out
from ethermeter.faults import InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.bottleneck import BottleneckAnswer
    from ethermeter.api.runs import Found

MOST_ROUNDS = 50
"""Rounds before a verdict, at most."""


@dataclass(frozen=True, slots=True)
class BottleneckOptions:
    """Options of `bottleneck`."""

    transfer: Annotated[
        str | Path | None,
        Argument(
            "File of a transfer (docs/reference/transfer-file.md), or name of a shipped one; "
            "unless given, those that are shipped are listed.",
            "TRANSFER",
            "transfers",
        ),
    ] = None
    _: KW_ONLY
    repetitions: Annotated[
        int | None,
        Argument(
            "Number of rounds before a verdict, instead of the file's; three times as many are "
            "made at most.",
            "N",
            least=3,
            most=MOST_ROUNDS,
            is_setting=True,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Argument(
            "Seed of the order that replaces that of the file.",
            "N",
            least=0,
            most=2**63 - 1,
            is_setting=True,
        ),
    ] = None
    on: Annotated[
        str | None,
        Argument(
            "Where to run the transfer: testbed, between two hosts on this machine; needs root.",
            "testbed",
            "testbeds",
        ),
    ] = None
    figure: Annotated[
        Path | None,
        Argument(
            "Also draw the ceilings along the path into this file: .html, .svg, .pdf or .png.",
            "FILE",
        ),
    ] = None
    out: Out = None
    force: Force = False


@dataclass(frozen=True, slots=True)
class ListedTransfer:
    """A shipped transfer, and the bottleneck that it has."""

    name: str
    title: str
    planted: str | None


Searched: TypeAlias = "Found[BottleneckAnswer] | tuple[ListedTransfer, ...]"


@operation(BottleneckOptions)
def bottleneck(options: BottleneckOptions, display: Display) -> Searched:
    """Find the bottleneck of a transfer by relieving or tightening one stage at a time.

    Without a transfer, the shipped ones are listed, each of which has a known bottleneck. Exit code
    0, even without a decision; 1 if the system refuses an operation; 2 for invalid input.

    Raises
    ------
    InputError
        With every fault of the transfer, or if the directory has something else in it.
    RunError, TrialError, TestbedError
        If results cannot be written, a trial broke off, or the system refuses an operation.

    """
    from ethermeter.api.figures import require_drawing, require_room

    if options == BottleneckOptions():
        return _listed()
    if options.transfer is None:
        allowed = "the file of a transfer, or one that the command lists without arguments"
        raise InputError.of_argument("transfer", "not given", allowed)
    if options.on != "testbed":
        allowed = "required: testbed; there is no other place yet where stages can be changed"
        raise InputError.of_argument("on", options.on or "not given", allowed)
    if options.figure is not None:
        require_drawing("figure", options.figure)
        require_room("figure", options.figure)
    from ethermeter.analysis.bottleneck import BottleneckAnswer
    from ethermeter.api.runs import found_by
    from ethermeter.bottleneck import Transfers, load
    from ethermeter.execution import Execution
    from ethermeter.strategies.bottleneck import BottleneckSearch

    strategy = BottleneckSearch(
        load(str(options.transfer)), seed=options.seed, repetitions=options.repetitions
    )
    execution = Execution(force=options.force, command=display.command, seed=strategy.seed)
    with Transfers() as place:
        found = found_by(
            strategy, BottleneckAnswer, execution, out=options.out, place=place, display=display
        )
    if options.figure is not None:
        from ethermeter.report.export import export
        from ethermeter.report.roofline import page

        export(page(found.answer.title, [found.answer.path()]), options.figure)
    return found


def _listed() -> tuple[ListedTransfer, ...]:
    from ethermeter.bottleneck import load, transfers

    there = {name: load(name) for name in transfers()}
    return tuple(ListedTransfer(name, each.title, each.planted) for name, each in there.items())
