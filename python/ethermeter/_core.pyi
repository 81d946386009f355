from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self, final

__all__ = [
    "Relay",
    "ask_hosts",
    "check_ceilings",
    "check_network",
    "check_test",
    "explain_capture",
    "host_task",
    "make_certificates",
    "measure_test",
    "serve_agent",
    "simulate",
    "simulate_idealised",
    "simulate_network",
    "simulate_reference",
    "standards",
    "version",
]

def ask_hosts(
    controls: Sequence[str], *, credentials: tuple[bytes, bytes, bytes] | None = None, namespace: str | PathLike[str] | None = None
) -> str: ...
def check_ceilings(text: str) -> None: ...
def check_network(line: str) -> None: ...
def check_test(test: str) -> None: ...
def host_task(line: str) -> str: ...
def explain_capture(path: str | PathLike[str], progress: Callable[[int, int], object] | None = None) -> str: ...
def make_certificates(directory: str | PathLike[str], hosts: Sequence[str]) -> None: ...
def measure_test(
    test: str,
    *,
    credentials: tuple[bytes, bytes, bytes] | None = None,
    namespace: str | PathLike[str] | None = None,
    follow: Callable[[str | None], object] | None = None,
) -> str: ...
def serve_agent(
    at: str,
    *,
    ceilings: str | None = None,
    credentials: tuple[bytes, bytes, bytes] | None = None,
    clock_offset_ns: int = 0,
    clock_drift_ppb: int = 0,
    ready: Callable[[str], object],
    should_stop: Callable[[], object],
) -> None: ...
def simulate(line: str) -> dict[str, Any]: ...
def simulate_idealised(line: str) -> dict[str, Any]: ...
def simulate_network(line: str) -> dict[str, Any]: ...
def simulate_reference(line: str) -> dict[str, Any]: ...
def standards() -> dict[str, dict[str, Any]]: ...
def version() -> str: ...

@final
class Relay:
    def __new__(cls, plan: str) -> Self: ...
    def run(self) -> str: ...
