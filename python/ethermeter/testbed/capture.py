"""Captures of shared segments: the relay writes what happens on a medium into a file."""

import select
import socket
from contextlib import suppress
from pathlib import Path

import msgspec

from ethermeter.live_reports import CaptureCounts
from ethermeter.relay_plan import CaptureOptions, ControlRequest
from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.relay import answer, connect

_FINISH_LIMIT_S = 30.0
"""Timeout for what is left to be written at the end."""


class _Begun(msgspec.Struct, frozen=True):
    pass


class MediumCapture:
    """A capture of a medium at work. It ends with its process, too.

    Raises `TestbedError` if the relay refuses.
    """

    def __init__(self, control: Path | str, file: int, options: CaptureOptions) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connect(self._socket, control)
        request = msgspec.json.encode(ControlRequest(capture=options)) + b"\n"
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

    def finish(self) -> CaptureCounts:
        """End it, and return its account; raise `TestbedError` if it could not be written."""
        self.stop()
        self._socket.settimeout(_FINISH_LIMIT_S)
        try:
            return answer(self._socket, CaptureCounts)
        finally:
            self._socket.close()

    def close(self) -> None:
        """Let it end, without its account."""
        self._socket.close()
