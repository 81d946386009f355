"""Models of theory and of voice: what there is, what each assumes, what it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.models.admission import Admission
    from ethermeter.models.catalogue import Description, Title
    from ethermeter.models.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options of `model`."""

    name: Annotated[
        str | None, Argument("Name of a model; all are listed without one.", "MODEL", "models")
    ] = None
    given: Annotated[
        Mapping[str, object],
        Argument(
            "Values of the arguments of the model by name: numbers, or texts with units.",
            "NAME=VALUE",
            "model_arguments",
        ),
    ] = field(default_factory=dict)


@operation(ModelOptions)
def model(
    options: ModelOptions, display: Display
) -> "tuple[Title, ...] | Description | Evaluation | Admission":
    """List the models, show one, or evaluate it.

    Without MODEL, all models are listed. MODEL alone shows its arguments, with their units and
    ranges, its results, assumptions and sources. With at least one NAME=VALUE it is evaluated.

    A value is a number, with a unit ("2 ms") or in that of the model, or a fraction in %; a list
    a,b,c; or a range from..to (step 1), from..to/50 (50 points), from..to/50log (50 points,
    logarithmic). All combinations are evaluated.

    Raises
    ------
    InputError
        If there is no such model, an argument is not one of the model's, or it has no value there;
        every fault at once.

    """
    from ethermeter.models import catalogue

    if options.name is None:
        return catalogue.titles()
    entry = catalogue.model(options.name)
    if not options.given:
        return catalogue.described(entry)
    return catalogue.answer(entry, options.given)
