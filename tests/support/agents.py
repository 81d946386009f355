"""Agents with certificates on hosts of a testbed, and tests between them."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ethermeter.testbed import Host
from program import LIMIT_S


class Agents:
    """The agent's program on some hosts, with certificates and ceilings in a folder; certificates
    name the addresses `others`, too.
    """

    def __init__(
        self, program: str, hosts: list[Host], folder: Path, ceilings: str, *others: str
    ) -> None:
        self.program, self.hosts, self.folder = program, hosts, folder
        names = ",".join("=".join((host.ipv4, host.ipv6, *others)) for host in hosts)
        command = [program, "certificates", str(folder / "certificates"), "--hosts", names]
        subprocess.run(command, check=True)
        (folder / "ceilings.toml").write_text(ceilings)

    def credentials(self, name: str) -> list[str]:
        """Options of the certificate of a host, or of the coordinator."""
        files = {"certificate": f"{name}.pem", "key": f"{name}.key", "authority": "authority.pem"}
        folder = self.folder / "certificates"
        return [word for key, file in files.items() for word in (f"--{key}", str(folder / file))]

    @contextlib.contextmanager
    def listening(
        self, host: Host, *options: str, port: int = 4988
    ) -> Iterator[tuple["subprocess.Popen[str]", str]]:
        """Run an agent on a host; yields its process, and where it listens."""
        words = ["--listen", f"{host.ipv4}:{port}", *self.credentials(host.ipv4)]
        words += ["--ceilings", str(self.folder / "ceilings.toml"), *options]
        command = host.command(self.program, *words)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                head, _, place = process.stdout.readline().strip().partition("listening on ")
                assert (head, bool(place)) == ("", True)
                yield process, place
            finally:
                process.kill()

    @contextlib.contextmanager
    def running(self) -> Iterator[list[dict[str, str]]]:
        """Run an agent on each host; yields them as a test names them: h1, h2 and so on."""
        with contextlib.ExitStack() as stack:
            yield [
                self.entry(f"h{number}", host, stack.enter_context(self.listening(host))[1])
                for number, host in enumerate(self.hosts, 1)
            ]

    @staticmethod
    def entry(name: str, host: Host, place: str) -> dict[str, str]:
        """Return an agent as a test names it."""
        return {"name": name, "control": place, "address": host.ipv4}

    @contextlib.contextmanager
    def measuring(
        self, coordinator: Host, test: dict[str, Any], name: str = "test"
    ) -> Iterator["subprocess.Popen[str]"]:
        """Begin one test from a host; yields its process."""
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({"seed": 1, **test}))
        words = ("measure", str(file), *self.credentials("coordinator"))
        command = coordinator.command(self.program, *words)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def try_to_measure(
        self, coordinator: Host, test: dict[str, Any], name: str = "test"
    ) -> "subprocess.CompletedProcess[str]":
        """Run one test from a host."""
        with self.measuring(coordinator, test, name) as process:
            printed, errors = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, printed, errors)

    def measure(self, coordinator: Host, test: dict[str, Any]) -> dict[str, Any]:
        """Run one test from a host, and return what came of it."""
        done = self.try_to_measure(coordinator, test)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result
