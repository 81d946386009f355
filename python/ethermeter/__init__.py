"""ethermeter: an Ethernet capacity laboratory.

Describe a network and its traffic once; learn what it can carry, with what delay, loss and
fairness.

Examples
--------
>>> import ethermeter as em
>>> run = em.load("poisson-load").run()  # doctest: +SKIP
>>> run.frame()  # doctest: +SKIP
>>> run.plot("utilisation")  # doctest: +SKIP

"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethermeter import theory, voice
    from ethermeter._core import Draws, version
    from ethermeter.api.experiments import Loaded, load, simulate
    from ethermeter.api.run import run
    from ethermeter.api.runs import Run, open
    from ethermeter.experiment.builder import (
        flow,
        host,
        hub,
        link,
        messages,
        network,
        network_segment,
        router,
        segment,
        stations,
        switch,
    )
    from ethermeter.exploration import explore
    from ethermeter.functions import register_backoff, register_source

    __version__: str = version()

__all__ = [
    "Draws",
    "Figure",
    "InputError",
    "Loaded",
    "Run",
    "RunError",
    "TrialError",
    "__version__",
    "explore",
    "flow",
    "host",
    "hub",
    "link",
    "load",
    "messages",
    "network",
    "network_segment",
    "open",
    "register_backoff",
    "register_source",
    "router",
    "run",
    "segment",
    "simulate",
    "stations",
    "switch",
    "theory",
    "voice",
]

_ON_DEMAND = {
    "Draws": "_core",
    "Figure": "figure",
    "InputError": "faults",
    "Loaded": "api.experiments",
    "Run": "api.runs",
    "RunError": "store",
    "TrialError": "engines.work",
    "explore": "exploration",
    "load": "api.experiments",
    "open": "api.runs",
    "register_backoff": "functions",
    "register_source": "functions",
    "run": "api.run",
    "simulate": "api.experiments",
}
_ON_DEMAND |= dict.fromkeys(
    (
        *("flow", "host", "hub", "link", "messages", "network", "network_segment", "router"),
        *("segment", "stations", "switch"),
    ),
    "experiment.builder",
)
"""Modules of names that are in a module of their own."""


def __getattr__(name: str) -> Any:
    # On demand: the command line must answer before NumPy and Arrow are loaded.
    if name == "__version__":
        from ethermeter._core import version

        return version()
    if name in {"theory", "voice"}:
        from importlib import import_module

        return import_module(f"ethermeter.{name}")
    if name in _ON_DEMAND:
        from importlib import import_module

        return getattr(import_module(f"ethermeter.{_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module 'ethermeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
