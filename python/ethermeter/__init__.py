"""ethermeter: an Ethernet capacity laboratory.

Describe a network and its traffic once; learn what it can carry, with what delay, loss and
fairness.

Examples
--------
>>> import ethermeter as em
>>> run = em.run("poisson-load")  # doctest: +SKIP
>>> run.frame()  # doctest: +SKIP
>>> run.plot("utilisation")  # doctest: +SKIP

"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethermeter import find, theory, voice
    from ethermeter._core import Draws, version
    from ethermeter.api.bus import bus
    from ethermeter.api.compare import compare
    from ethermeter.api.experiments import Loaded, load, simulate
    from ethermeter.api.explain import explain
    from ethermeter.api.fit import fit
    from ethermeter.api.measure import measure
    from ethermeter.api.model import model
    from ethermeter.api.predict import predict
    from ethermeter.api.probe import probe
    from ethermeter.api.run import run
    from ethermeter.api.runs import Run, open
    from ethermeter.api.study import study
    from ethermeter.engines.work import TrialError
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
    from ethermeter.faults import InputError
    from ethermeter.figure import Figure
    from ethermeter.functions import register_backoff, register_source
    from ethermeter.store import RunError

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
    "bus",
    "compare",
    "explain",
    "explore",
    "find",
    "fit",
    "flow",
    "host",
    "hub",
    "link",
    "load",
    "measure",
    "messages",
    "model",
    "network",
    "network_segment",
    "open",
    "predict",
    "probe",
    "register_backoff",
    "register_source",
    "router",
    "run",
    "segment",
    "simulate",
    "stations",
    "study",
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
    **{name: f"api.{name}" for name in ("bus", "compare", "explain", "fit", "measure", "model")},
    **{name: f"api.{name}" for name in ("predict", "probe", "run", "study")},
    "load": "api.experiments",
    "open": "api.runs",
    "register_backoff": "functions",
    "register_source": "functions",
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
    if name in {"find", "theory", "voice"}:
        from importlib import import_module

        return import_module(f"ethermeter.{name}")
    if name in _ON_DEMAND:
        from importlib import import_module

        return getattr(import_module(f"ethermeter.{_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module 'ethermeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
