"""Recording: frames of a trial as captures.

They are taken at the interfaces of hosts on this machine, or on the emulated medium of a segment.
"""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.json import decode, encode, format
from msgspec.structs import replace

from ethermeter.engines.live.description import hosts_of
from ethermeter.engines.live.segments import host_names
from ethermeter.engines.work import TrialError
from ethermeter.entities import senders, stations_in
from ethermeter.faults import ARGUMENTS, Fault, InputError, choices
from ethermeter.nodes import hosts_in
from ethermeter.relay_plan import CaptureOptions
from ethermeter.scenario import Scenario
from ethermeter.store.captures import Accounts, HostAccount, account_of, file_of
from ethermeter.store.files import TEMPORARY, make_folder, write_whole
from ethermeter.testbed import MediumCapture, TestbedError
from ethermeter.trial import Trial

if TYPE_CHECKING:
    from ethermeter._core import Recorder

SNAP_OCTETS = 128
"""Octets of a frame that are kept: all headers, and the mark."""
MOST_OCTETS = 256_000_000
"""Largest capture."""
MEDIUM = "segment"
"""Where a segment is recorded, beside its hosts: on its medium."""


@dataclass(frozen=True, slots=True)
class Tap:
    """Interface at which the frames of a host are recorded, in a namespace or this process's own.

    `only` is an IPv4 address and the bits of its network, if only frames between them are the
    host's.
    """

    interface: str
    namespace: Path | None = None
    only: tuple[str, int] | None = None

    def begin(self, path: Path, of: "Captures") -> "Recorder":
        """Record into a file from now on; raise `OSError` or `ValueError` if that is refused."""
        from ethermeter import _core

        return _core.Recorder(
            path,
            self.interface,
            namespace=self.namespace,
            snap_octets=of.snap_octets,
            most_octets=of.most_octets,
            only=self.only,
        )


@dataclass(frozen=True, slots=True)
class MediumTap:
    """The medium of a segment, which the relay that listens at `control` records."""

    control: Path
    stations: Sequence[str]
    interface: str = MEDIUM

    def begin(self, path: Path, of: "Captures") -> "_MediumRecorder":
        """Record into a file from now on; raise `OSError` or `TestbedError` if it is refused."""
        options = CaptureOptions(
            names=tuple(self.stations), snap_octets=of.snap_octets, most_octets=of.most_octets
        )
        # Another user may have put a link there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path, flags, 0o644)
        try:
            return _MediumRecorder(MediumCapture(self.control, file, options))
        finally:
            os.close(file)


@dataclass(slots=True)
class _MediumRecorder:
    """A capture of a medium, with the methods of a recorder of an interface."""

    capture: MediumCapture

    def stop(self) -> None:
        """Ask it to stop, without waiting for it."""
        self.capture.stop()

    def finish(self) -> bytes:
        """Stop, and return the account as JSON."""
        return encode(self.capture.finish())

    def close(self) -> None:
        """Let it end, without its account."""
        self.capture.close()


@dataclass(frozen=True, slots=True)
class Captures:
    """Recordings of a trial at some hosts; at all that send or receive if none are named.

    A segment is recorded on its medium, named `MEDIUM`, if none are named.

    `snap_octets` are kept of each frame, 64 to 65536; what exceeds the `most_octets` of a capture
    is counted only.
    """

    hosts: Sequence[str] = ()
    snap_octets: int = SNAP_OCTETS
    most_octets: int = MOST_OCTETS

    def check(self, scenario: Scenario) -> None:
        """Refuse hosts that a scenario does not have, with every fault."""
        there = hosts_in(scenario)
        lead = "hosts of the experiment: "
        if senders(scenario):
            there = [MEDIUM, *host_names(stations_in(scenario))]
            lead = "the medium, or hosts: "
        if faults := [
            Fault(ARGUMENTS, "capture_at", host, choices(host, there, lead))
            for host in self.hosts
            if host not in there
        ]:
            raise InputError(faults)

    def chosen(self, scenario: Scenario) -> list[str]:
        """Names of the hosts at which a trial is recorded."""
        if self.hosts:
            return list(dict.fromkeys(self.hosts))
        if senders(scenario):
            return [MEDIUM]
        return hosts_of(scenario)

    @contextmanager
    def recording(
        self, trial: Trial, taps: Mapping[str, Tap | MediumTap], directory: Path
    ) -> Iterator["Recording"]:
        """Record while the block lasts; captures stay only if they are kept before its end.

        Raises TrialError if the trial cannot be recorded.
        """
        recording = Recording(trial.id, directory, self)
        try:
            for host in self.chosen(trial.scenario):
                recording.begin(host, taps[host])
            yield recording
        finally:
            recording.discard()


def check_allowed() -> None:
    """Refuse to record where this user may not open packet sockets."""
    from ethermeter import _core

    try:
        _core.Recorder(os.devnull, "lo").finish()
    except PermissionError:
        allowed = "expected root (or CAP_NET_RAW): only then can frames of an interface be recorded"
        given = f"given by user {os.geteuid()}"
        raise InputError.of_argument("capture", given, allowed) from None


@dataclass(slots=True)
class Recording:
    """What is being recorded of a trial."""

    trial: str
    directory: Path
    captures: Captures
    _under_way: "dict[str, tuple[Tap | MediumTap, Recorder | _MediumRecorder]]" = field(
        default_factory=dict
    )
    _begun: list[str] = field(default_factory=list)
    """Hosts of which there may be a file that is not to stay."""
    _token: str = field(default_factory=lambda: secrets.token_hex(8))
    """What makes its temporary names unpredictable."""

    def begin(self, host: str, tap: Tap | MediumTap) -> None:
        """Record a host or medium from now on."""
        path = self._temporary(host)
        make_folder(path.parent, within=self.directory)
        self._begun.append(host)
        try:
            recorder = tap.begin(path, self.captures)
        except (OSError, ValueError, TestbedError) as error:
            raise self._failed(host, error) from error
        self._under_way[host] = (tap, recorder)

    def keep(self) -> None:
        """End it, and keep captures and accounts; TrialError if one could not be written."""
        for _, recorder in self._under_way.values():
            recorder.stop()
        accounts: dict[str, HostAccount] = {}
        for host, (tap, recorder) in self._under_way.items():
            try:
                account = decode(recorder.finish(), type=HostAccount)
                self._temporary(host).replace(self.directory / file_of(self.trial, host))
            except (OSError, TestbedError) as error:
                raise self._failed(host, error) from error
            accounts[host] = replace(
                account,
                interface=tap.interface,
                snap_octets=self.captures.snap_octets,
                most_octets=self.captures.most_octets,
            )
        text = format(encode(Accounts(accounts)), indent=1).decode()
        write_whole(self.directory / account_of(self.trial), text + "\n", within=self.directory)
        self._begun.clear()

    def discard(self) -> None:
        """End what is still under way, and remove what was not kept."""
        for _, recorder in self._under_way.values():
            if isinstance(recorder, _MediumRecorder):
                recorder.close()  # that of an interface ends when it is let go of
        self._under_way.clear()
        for host in self._begun:
            for path in (self._temporary(host), self.directory / file_of(self.trial, host)):
                path.unlink(missing_ok=True)

    def _temporary(self, host: str) -> Path:
        path = self.directory / file_of(self.trial, host)
        return path.with_name(f"{TEMPORARY}{self._token}-{path.name}")

    def _failed(self, host: str, error: Exception) -> TrialError:
        return TrialError(f"trial {self.trial}: the capture at {host}: {error}")
