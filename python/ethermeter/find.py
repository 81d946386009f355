"""Limits that are found, as functions: of commands `ethermeter find` of the same names.

Examples
--------
>>> from ethermeter import find
>>> queue = "network.switches.switch.queue"
>>> ends = {"first": 20, "last": 30}
>>> found = find.value(
...     "buffer-sizing", smallest=queue, **ends, conditions=["loss == 0"]
... )  # doctest: +SKIP
>>> found.answer.estimate  # doctest: +SKIP
'24'

"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethermeter.api.find.benchmark import benchmark
    from ethermeter.api.find.bottleneck import bottleneck
    from ethermeter.api.find.calls import calls
    from ethermeter.api.find.ceilings import ceilings
    from ethermeter.api.find.value import value

__all__ = ["benchmark", "bottleneck", "calls", "ceilings", "value"]


def __getattr__(name: str) -> Any:
    # On demand, and not in the package of these modules, whose attributes they are by these names.
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"ethermeter.api.find.{name}"), name)
    raise AttributeError(f"module 'ethermeter.find' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
