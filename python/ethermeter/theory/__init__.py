"""Theory: models of shared media, queues and transfers, as pure functions over arrays.

A model is one file: its function, then its entry of the catalogue with assumptions, source,
confidence and validity. A function takes numbers or arrays, which broadcast, and returns a frozen
value; its field `outside_range` is true where the model's assumptions do not hold. `predictions`
says when a model applies to a scenario, and `idealised` builds the scenario that a model assumes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ethermeter.theory.functions import *  # noqa: F403

_FUNCTIONS = "ethermeter.theory.functions"


def __getattr__(name: str) -> Any:
    # On demand: names of models are wanted where SciPy, which takes long to load, is not.
    if name == "__all__" or not name.startswith("_"):
        from importlib import import_module

        functions = import_module(_FUNCTIONS)
        if name in ("__all__", *functions.__all__):
            return getattr(functions, name)
    raise AttributeError(f"module 'ethermeter.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    from importlib import import_module

    return list(import_module(_FUNCTIONS).__all__)
