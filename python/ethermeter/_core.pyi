from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from ethermeter.counts import Counts

__all__ = [
    "Draws",
    "Recorder",
    "Relay",
    "Trace",
    "Watch",
    "ask_hosts",
    "capture_frames",
    "check_ceilings",
    "check_test",
    "check_trial",
    "explain_capture",
    "host_task",
    "interface_plca",
    "make_certificates",
    "measure_peer",
    "measure_test",
    "plca_timing",
    "read_counts",
    "serve_agent",
    "serve_reflector",
    "simulate_trial",
    "standards",
    "version",
]

def ask_hosts(
    controls: Sequence[str],
    *,
    credentials: tuple[bytes, bytes, bytes] | None = None,
    namespace: str | PathLike[str] | None = None,
    reads_activity: bool = False,
) -> str: ...
def check_ceilings(text: str) -> None: ...
def interface_plca(interface: str) -> str | None: ...
def check_test(test: str) -> None: ...
def check_trial(text: str) -> list[tuple[list[str | int], str | None, str | tuple[int, int]]]: ...
def host_task(line: str) -> str: ...
def capture_frames(
    path: str | PathLike[str],
    *,
    most: int,
    source: str | None = None,
    destination: str | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...
def explain_capture(
    path: str | PathLike[str] | None, progress: Callable[[int, int], object] | None = None
) -> str: ...
def make_certificates(directory: str | PathLike[str], hosts: Sequence[str]) -> None: ...
def measure_test(
    test: str,
    *,
    credentials: tuple[bytes, bytes, bytes] | None = None,
    namespace: str | PathLike[str] | None = None,
    follow: Callable[[str | None, int | None], object] | None = None,
) -> str: ...
def serve_agent(
    at: str,
    *,
    ceilings: str | None = None,
    credentials: tuple[bytes, bytes, bytes] | None = None,
    clock_offset_ns: int = 0,
    clock_drift_ppb: int = 0,
    ready: Callable[[str, list[str]], object],
    should_stop: Callable[[], object],
) -> None: ...
def measure_peer(
    task: str,
    *,
    key: bytes | None = None,
    namespace: str | PathLike[str] | None = None,
) -> str: ...
def serve_reflector(
    service: str,
    *,
    key: bytes | None = None,
    ready: Callable[[str], object],
    should_stop: Callable[[], object],
) -> str: ...
def read_counts(text: str) -> Counts: ...
def simulate_trial(
    text: str,
    watch: Watch | None = None,
    traces: Mapping[str, Trace] | None = None,
    functions: Any | None = None,
) -> Counts: ...
def standards() -> dict[str, dict[str, Any]]: ...
def plca_timing() -> dict[str, Any]: ...
def version() -> str: ...

@final
class Draws:
    def below(self, bound: int) -> int: ...
    def unit(self) -> float: ...
    def exponential(self, mean_s: float) -> float: ...

@final
class Watch:
    def __new__(cls) -> Self: ...
    @property
    def share(self) -> float: ...
    def stop(self) -> None: ...

@final
class Trace:
    def __new__(cls, text: str) -> Self: ...

@final
class Recorder:
    def __new__(
        cls,
        path: str | PathLike[str],
        interface: str,
        *,
        namespace: str | PathLike[str] | None = None,
        snap_octets: int = 128,
        most_octets: int = 268435456,
        only: tuple[str, int] | None = None,
    ) -> Self: ...
    def stop(self) -> None: ...
    def finish(self) -> str: ...

@final
class Relay:
    def __new__(cls, plan: str) -> Self: ...
    def run(self) -> str: ...
