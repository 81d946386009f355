"""A capture of a shared segment of a testbed, from the command line."""

import os
import shlex
import sys
import time
from pathlib import Path

from msgspec import to_builtins

from ethermeter.cli.guard import say
from ethermeter.cli.output import print_json, print_text, require_room
from ethermeter.cli.progress import ActivityDisplay, ProgressDisplay
from ethermeter.cli.segment_view import is_removed
from ethermeter.cli.voice_values import refuse
from ethermeter.live_reports import CaptureCounts
from ethermeter.relay_plan import CaptureOptions
from ethermeter.testbed import MediumCapture, TestbedError

STANDARD_OUTPUT = Path("-")
LOOK_S = 0.2
"""Time between two looks whether it has ended."""


def run(
    name: str,
    control: Path,
    out: Path,
    wanted: CaptureOptions,
    *,
    for_s: float | None,
    as_json: bool,
) -> None:
    """Capture until its time is over, it has its frames, Ctrl-C, or the testbed is removed."""
    is_file = out != STANDARD_OUTPUT
    if not is_file and as_json:
        refuse("--json", "given with --out -", "one of the two: standard output has the capture")
    file = _opened(out) if is_file else sys.stdout.fileno()
    try:
        capture = MediumCapture(control, file, wanted)
    finally:
        if is_file:
            os.close(file)
    interrupt = None
    try:
        _await(capture, f"capture of {name}", for_s)
    except KeyboardInterrupt as error:
        interrupt = error
    account = capture.finish()
    if as_json:
        print_json({"testbed": name, "file": str(out), **to_builtins(account)})
    else:
        _tell(out, account, is_file=is_file)
    if account.ended == "relay":
        if not is_removed(name):
            raise TestbedError(f"the relay of {name} ended, and the capture with it")
        say(f"ethermeter: testbed {name} was removed")
    if interrupt is not None:
        raise interrupt


def _opened(out: Path) -> int:
    """Open the file; a link that another user put there is not followed."""
    require_room("--out", out)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(out, flags, 0o644)


def _await(capture: MediumCapture, title: str, for_s: float | None) -> None:
    """Wait for the end of a capture, and show how far it is."""
    if for_s is None:
        with ActivityDisplay(title) as activity:
            activity("until Ctrl-C")
            while not capture.has_ended(LOOK_S):
                pass
        return
    begin_s = time.monotonic()
    with ProgressDisplay(title) as display:
        while (left_s := begin_s + for_s - time.monotonic()) > 0:
            if capture.has_ended(min(LOOK_S, left_s)):
                return
            spent_s = min(time.monotonic() - begin_s, for_s)
            display.show(spent_s / for_s, f"{spent_s:.0f} of {for_s:g} s", for_s - spent_s)


def _tell(out: Path, account: CaptureCounts, *, is_file: bool) -> None:
    over_s = (account.ended_ns - account.begun_ns) / 1e9
    line = (
        f"{out}: {account.frames} frames in {over_s:.1f} s, {account.collisions} of them "
        f"collided; {account.dropped} dropped, {account.beyond_size} beyond its size"
    )
    if not is_file:
        say(line)
        return
    print_text(line)
    print_text(f"to see it: wireshark {shlex.quote(str(out))}")
