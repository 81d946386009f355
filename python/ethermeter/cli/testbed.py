"""Commands on testbeds: hosts on this machine, as network namespaces."""

import os
import shlex
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ethermeter.api.testbed import DownOptions, ExecuteOptions, UpOptions, down, up, words_of
from ethermeter.api.testbed_view import (
    STANDARD_OUTPUT,
    Captured,
    Listing,
    Look,
    ShowOptions,
    show,
)
from ethermeter.cli.command import Command, Form
from ethermeter.cli.guard import FAILED, say
from ethermeter.cli.help import Entry, Group
from ethermeter.operation import Display, operation

if TYPE_CHECKING:
    from ethermeter.api.testbed import NamedTestbed, Removed

UP_EXAMPLES = """\
  ethermeter testbed up
  ethermeter testbed up hosts=4 layout=switch rate="10 Mb/s" --json
  ethermeter testbed up wire=relay rate="10 Mb/s" delay="50 us" loss=0.01
  ethermeter testbed up poisson-load --set 'stations.count=4'
  ethermeter testbed exec em-1234-abcd 1 -- ping 10.77.0.2"""
EXEC_EXAMPLES = """\
  ethermeter testbed exec em-1234-abcd 1 -- ping 10.77.0.2
  ethermeter testbed exec em-1234-abcd station-2 -- iperf3 -s"""
DOWN_EXAMPLES = "  ethermeter testbed down em-1234-abcd\n  ethermeter testbed down --all --json"
SHOW_EXAMPLES = """\
  ethermeter testbed show
  ethermeter testbed show em-1234-abcd --live
  ethermeter testbed show em-1234-abcd --capture segment.pcapng --for 10s
  ethermeter testbed show em-1234-abcd --capture segment.pcapng frames=1000 --json
  ethermeter testbed show em-1234-abcd --capture - | wireshark -k -i -"""


def _builtins(answer: object) -> object:
    """Return an answer as JSON values."""
    from msgspec import to_builtins

    return to_builtins(answer)


def _made(found: "NamedTestbed", options: UpOptions) -> Iterator[object]:
    from ethermeter.present import testbeds

    yield from testbeds.made(found)


UP = Command(
    up,
    UP_EXAMPLES,
    blocks=_made,
    plain=_builtins,
    former={
        f"--{name}": f"{name}=VALUE"
        for name in (
            *("hosts", "layout", "rate", "wire", "delay", "loss", "lose-every", "seed", "queue"),
            "mtu",
        )
    },
)


@operation(ExecuteOptions)
def _become(options: ExecuteOptions, display: Display) -> None:
    """Run a program on a host of a testbed, with its output and its exit code.

    Raises
    ------
    InputError
        If there is no such testbed or host.

    """
    from ethermeter.testbed import TestbedError

    # In place of this process, so that signals and the terminal are the program's own.
    words = words_of(options)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise TestbedError(f"{words[0]}: {error.strerror}") from None


EXEC = Command(_become, EXEC_EXAMPLES)


def _removed(found: "Removed", options: DownOptions) -> Iterator[object]:
    from ethermeter.present import testbeds

    if found.removed or not found.faults:
        yield from testbeds.removed(found.removed)


def _removed_plain(found: "Removed") -> object:
    """Return what was removed as JSON values; what happened on wires only where there were some."""
    values = {"removed": found.removed, "wires": found.wires, "faults": found.faults}
    return _builtins({name: value for name, value in values.items() if value or name == "removed"})


def _removal_ended(found: "Removed", options: DownOptions) -> int:
    for fault in found.faults:
        say(f"ethermeter: {fault}")
    return FAILED if found.faults else 0


DOWN = Command(down, DOWN_EXAMPLES, blocks=_removed, plain=_removed_plain, end=_removal_ended)
Shown = Listing | Look | Captured | None


def _shown(found: Shown, options: ShowOptions) -> Iterator[object]:
    from ethermeter.blocks import Text
    from ethermeter.cli import segment_view
    from ethermeter.present import testbeds

    if isinstance(found, Listing):
        yield from testbeds.existing(found)
    elif isinstance(found, Look):
        yield from map(Text, segment_view.lines(found.counted.segments, None, found.names))
    elif isinstance(found, Captured):
        if found.file == str(STANDARD_OUTPUT):
            say(testbeds.account(found))
            return
        yield Text(testbeds.account(found))
        yield Text(f"to see it: wireshark {shlex.quote(found.file)}")


def _shown_plain(found: Shown) -> object:
    """Return testbeds, counters of one, or the account of a capture as JSON values."""
    if isinstance(found, Listing):
        return _builtins(found.testbeds)
    return _builtins(found.counted if isinstance(found, Look) else found)


def _shown_rows(found: Shown) -> Iterator[dict[str, object]]:
    """Yield a row for each host, each way of a wire and each station, or of a capture."""
    from ethermeter.present import testbeds

    if isinstance(found, Listing):
        yield from testbeds.host_rows(found)
    elif isinstance(found, Look):
        yield from testbeds.counter_rows(found)
    elif found is not None:
        yield _builtins(found)  # type: ignore[misc]  # a mapping, of a struct


def _parts(options: ShowOptions, form: Form) -> Callable[[Look | Captured], None]:
    """Return what shows a look at a segment, and the account of a capture that was interrupted."""
    from ethermeter.cli import output, segment_view
    from ethermeter.faults import InputError

    if form != "text":
        if options.live:
            allowed = "one of the two"
            raise InputError.of("command line", f"--{form}", "given with --live", allowed)
        if options.capture == STANDARD_OUTPUT:
            allowed = "one of the two: standard output has the capture"
            raise InputError.of("command line", f"--{form}", "given with --capture -", allowed)
    screen = segment_view.Screen()

    def part(found: Look | Captured) -> None:
        if isinstance(found, Look):
            seen = segment_view.lines(found.counted.segments, found.before, found.names)
            screen.show([time.strftime("%H:%M:%S"), *seen])
        elif form == "json":
            output.print_values(_shown_plain(found))
        elif form == "csv":
            output.print_rows(_shown_rows(found))
        else:
            output.show(_shown(found, options))

    return part


SHOW = Command(
    show,
    SHOW_EXAMPLES,
    blocks=_shown,
    plain=_shown_plain,
    rows=_shown_rows,
    parts=_parts,
    former={
        "--capture-octets": "octets=N",
        "--capture-size": "size=MB",
        "--frames": "frames=N",
        "--out": "--capture FILE",
    },
)
GROUP = Group(
    "testbed",
    "Make virtual hosts on this machine, joined by virtual Ethernet, and remove them. Needs root.",
    {
        "Commands": {
            "up": Entry("Make a testbed that exists until it is taken down.", "testbed", "UP"),
            "exec": Entry("Run a program on a host of a testbed.", "testbed", "EXEC"),
            "down": Entry("Remove testbeds.", "testbed", "DOWN"),
            "show": Entry("List testbeds; watch or capture a segment.", "testbed", "SHOW"),
        }
    },
    examples=UP_EXAMPLES + "\n  ethermeter testbed show",
)
