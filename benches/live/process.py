"""Processes of a benchmark: our station and its peers, each on one processor of a host."""

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ethermeter.testbed import Host, Testbed

from benches.children import ChildError

ROOT = Path(__file__).parents[2]
SECONDS = 1.5
LIMIT_S = 60.0
PORT = 5000
STARTS_S = 0.5
"""Time for servers of peers to begin to listen; they do not report it."""


class Running:
    """A running process on one processor."""

    def __init__(
        self,
        host: Host,
        processor: int,
        words: Sequence[str],
        *,
        wait_for: str | None = None,
        given: str | None = None,
    ) -> None:
        command = host.command("taskset", "-c", str(processor % (os.cpu_count() or 1)), *words)
        self.name = words[0]
        self.out = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self.out,
            stderr=subprocess.PIPE if wait_for else subprocess.STDOUT,
            text=True,
        )
        if given is not None and self.process.stdin is not None:
            self.process.stdin.write(given)
        if wait_for and self.process.stderr is not None:
            line = self.process.stderr.readline().strip()
            if line != wait_for:
                raise ChildError(f"{self.name}: {line or 'no output'}")

    def end(self, *, stopped: bool = False) -> tuple[str, float]:
        """Wait for the end; return its output and its CPU time in s.

        A failure raises an error unless the process was stopped.
        """
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        for stream in (self.process.stdin, self.process.stderr):
            if stream is not None:
                stream.close()
        self.out.seek(0)
        out = self.out.read()
        self.out.close()
        if self.process.returncode != 0 and not stopped:
            last = ([line.strip() for line in out.splitlines() if line.strip()] or ["no output"])[
                -1
            ]
            raise ChildError(f"{self.name}: ended with {self.process.returncode}: {last}")
        return out, usage.ru_utime + usage.ru_stime

    def stop(self) -> None:
        """End it from outside."""
        # Nothing has waited for it, so its number is not reused.
        os.kill(self.process.pid, signal.SIGTERM)
        self.end(stopped=True)


def station(program: str, host: Host, processor: int, *words: str) -> Running:
    """Start our station; return when its port is open."""
    return Running(host, processor, [program, *words], wait_for="ready")


def address(port: str, own: Host, other: Host) -> list[str]:
    """Return the arguments of a station on `own` that talks to `other`."""
    if port == "udp":
        return [f"local={own.ipv4}:{PORT}", f"peer={other.ipv4}:{PORT}"]
    return [
        f"port={port}",
        "interface=em0",
        f"source={own.mac}",
        f"mac={other.mac}",
        "past-queue=1",
    ]


def give_time(server: Running) -> None:
    """Wait until a server without a ready message listens."""
    try:
        server.process.wait(STARTS_S)
    except subprocess.TimeoutExpired:
        return
    server.end()
    raise ChildError(f"{server.name}: ended at once")


def found(pattern: str, text: str) -> str:
    """Return the first group of a pattern in the output of a peer."""
    match = re.search(pattern, text)
    if match is None:
        raise ChildError(f"its output has no {pattern!r}")
    return match[1]


def trafgen_config(bed: Testbed) -> str:
    """Return the frames of trafgen: 64 octets between the two hosts, EtherType 88B5."""
    one, other = bed.hosts
    octets = ",".join(
        f"0x{octet}" for octet in (*other.mac.split(":"), *one.mac.split(":"), "88", "b5")
    )
    return f"{{ {octets}, fill(0, 46) }}\n"


def build_station() -> str:
    """Build our station and return its path."""
    words = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        "ethermeter-net",
        "--example",
        "station",
        "--message-format",
        "json",
    ]
    try:
        built = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ChildError(f"cargo: {error}") from None
    return str(
        next(
            message["executable"]
            for message in map(json.loads, built.splitlines())
            if message.get("executable")
        )
    )
