"""Runs the commands of Debian's `iproute2` and `ethtool`; failures become `TestbedError`."""

import os
import shutil
import subprocess
from collections.abc import Sequence

LIMIT_S = 20.0
"""Timeout of a command in s."""


class TestbedError(RuntimeError):
    """A testbed could not be made, used or removed; the message has the command and its output."""

    __test__ = False  # not a test class, despite its name


def require(*tools: str) -> None:
    """Check that this user can make testbeds and that this machine has the tools.

    Raises
    ------
    TestbedError
        If this process is not root, or a command is missing.

    """
    if os.geteuid() != 0:
        raise TestbedError(f"network namespaces need root, this is user {os.geteuid()}")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise TestbedError(
            f"missing commands: {', '.join(missing)} (Debian packages iproute2, ethtool)"
        )


def run(command: Sequence[str], *, lines: Sequence[str] = ()) -> str:
    """Run a command with lines of standard input and return its output.

    Raises
    ------
    TestbedError
        If it fails, is missing or exceeds the timeout.

    """
    text = "".join(f"{line}\n" for line in lines)
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TestbedError(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        answer = " ".join((done.stderr or done.stdout).split())
        raise TestbedError(f"{' '.join(command)}: exit code {done.returncode}: {answer}")
    return done.stdout


def inside(namespace: str, *command: str) -> list[str]:
    """Return the command line that runs a command inside a namespace."""
    return ["ip", "netns", "exec", namespace, *command]


def batch(namespace: str | None, lines: Sequence[str], *, tool: str = "ip") -> None:
    """Run several lines of `ip` or `tc` in one process, which stops at the first failure.

    They act in a network namespace, or in this machine's own network without one.
    """
    option = ["-n", namespace] if namespace else []
    run([tool, *option, "-batch", "-"], lines=lines)
