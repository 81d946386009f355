"""The suites by name."""

from collections.abc import Callable, Mapping

from ethermeter.benchmark import rfc2544, rfc2889, rfc3918, rfc6349, y1564
from ethermeter.benchmark.bench import Bench
from ethermeter.benchmark.steps import Suite

SUITES: Mapping[str, Callable[[Bench], Suite]] = {
    "rfc2544": rfc2544.suite,
    "rfc2889": rfc2889.suite,
    "rfc3918": rfc3918.suite,
    "rfc6349": rfc6349.suite,
    "y1564": y1564.suite,
}
ABOUT: Mapping[str, str] = {
    "rfc2544": "throughput, latency, frame loss, back-to-back, recovery (RFC 9004)",
    "rfc2889": "meshes, congestion control, forward pressure, addresses, broadcast",
    "rfc3918": "multicast throughput and latency",
    "rfc6349": "TCP throughput, efficiency, buffer delay",
    "y1564": "service configuration and performance",
}
"""The tests of each suite, in words."""


def load(name: str, bench: Bench) -> Suite:
    """Return a suite for a device between testers."""
    return SUITES[name](bench)
