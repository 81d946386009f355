"""Captures: recordings at hosts while trials were measured, stored beside the results."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from msgspec import DecodeError, Struct
from msgspec.json import decode

from ethermeter.faults import InputError
from ethermeter.store.files import CAPTURES
from ethermeter.store.integrity import read_verified


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture of a run: of a trial, at a host, in a file of the run directory.

    `dropped` frames were those that the kernel had no room for, `beyond_size` those that were left
    out when the file had reached its largest size.
    """

    trial: str
    host: str
    file: str
    frames: int
    dropped: int
    beyond_size: int
    octets: int

    @property
    def command(self) -> str:
        """The command that explains it, in the run directory."""
        return f"ethermeter explain {shlex.quote(self.file)}"


class HostAccount(Struct, frozen=True, kw_only=True):
    """Account of the capture at a host (`crates/net/src/record.rs`)."""

    interface: str = ""
    snap_octets: int = 0
    most_octets: int = 0
    frames: int
    beyond_size: int
    dropped: int
    collisions: int = 0
    """Frames that collided, of a capture of a medium."""
    file_octets: int
    begun_ns: int = 0
    ended_ns: int = 0


class Accounts(Struct, frozen=True):
    """Accounts of the captures of a trial, by host."""

    hosts: Mapping[str, HostAccount]


def file_of(trial: str, host: str) -> str:
    """Path of a capture within a run directory; names of hosts are quoted."""
    return f"{CAPTURES}/{trial}-{quote(host, safe='')}.pcapng"


def account_of(trial: str) -> str:
    """Path, within a run directory, of the accounts of the captures of a trial."""
    return f"{CAPTURES}/{trial}.json"


def read(directory: Path) -> list[Captured]:
    """Read the descriptions of the captures of a run, in the order of its trials; [] without any.

    Raises InputError if a file is not what it should be.
    """
    found: list[Captured] = []
    for path in sorted((directory / CAPTURES).glob("*/*.json")):
        trial = path.relative_to(directory / CAPTURES).with_suffix("").as_posix()
        try:
            text = read_verified(directory, path.relative_to(directory).as_posix())
            found += [
                Captured(
                    trial,
                    host,
                    file_of(trial, host),
                    account.frames,
                    account.dropped,
                    account.beyond_size,
                    account.file_octets,
                )
                for host, account in decode(text, type=Accounts).hosts.items()
            ]
        except (OSError, DecodeError) as error:
            allowed = "an account of captures, as measure writes it"
            raise InputError.of(str(path), "(file)", type(error).__name__, allowed) from error
    return found
