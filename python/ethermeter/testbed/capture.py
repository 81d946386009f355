"""Captures of shared segments: the relay writes what happens on a medium into a file."""

import select
import socket
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.relay import answer, connect

_FINISH_LIMIT_S = 30.0
"""Timeout for what is left to be written at the end."""


class CaptureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to capture, as `crates/relay/src/capture.rs` reads it."""

    segment: int = 0
    """The segment, by its number in the testbed."""
    names: tuple[str, ...]
    """Names of its stations, for the interfaces of the file."""
    snap_octets: int
    """Octets kept of each frame."""
    most_octets: int
    """Largest file; what comes later is counted only."""
    most_frames: int | None = None
    """Frames, collided ones included, after which the capture ends."""


class CaptureAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Account of a capture of a medium."""

    frames: int
    """Frames in the file, collided ones included."""
    collisions: int
    """Those of them that collided."""
    beyond_size: int
    """Frames left out when the file had its largest size."""
    dropped: int
    """Frames that came faster than they were written."""
    file_octets: int
    begun_ns: int
    ended_ns: int
    ended: Literal["requested", "frames", "relay"]
    """Why it ended: it was asked to, it had its frames, or the relay ended."""


class _Begun(msgspec.Struct, frozen=True):
    pass


class MediumCapture:
    """A capture of a medium at work. It ends with its process, too.

    Raises `TestbedError` if the relay refuses.
    """

    def __init__(self, control: Path | str, file: int, options: CaptureOptions) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connect(self._socket, control)
        request = msgspec.json.encode({"capture": options}) + b"\n"
        try:
            socket.send_fds(self._socket, [request], [file])
            answer(self._socket, _Begun)
        except OSError as error:
            self._socket.close()
            raise TestbedError(f"the relay did not answer: {error}") from None
        except TestbedError:
            self._socket.close()
            raise

    def has_ended(self, limit_s: float) -> bool:
        """Wait for the end of the capture; whether it came within the time."""
        return bool(select.select([self._socket], [], [], limit_s)[0])

    def stop(self) -> None:
        """Ask it to end, and do not wait for it."""
        with suppress(OSError):  # the relay has ended
            self._socket.shutdown(socket.SHUT_WR)

    def finish(self) -> CaptureAccount:
        """End it, and return its account; raise `TestbedError` if it could not be written."""
        self.stop()
        self._socket.settimeout(_FINISH_LIMIT_S)
        try:
            return answer(self._socket, CaptureAccount)
        finally:
            self._socket.close()

    def close(self) -> None:
        """Let it end, without its account."""
        self._socket.close()
