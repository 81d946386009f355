"""Commands on the models: what there is, what each assumes, what it gives."""

from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json, show

if TYPE_CHECKING:
    from ethermeter.theory.entry import Model
    from ethermeter.theory.evaluation import Evaluation

app = group(
    "theory",
    "Models of the studies: list, show, evaluate and choose them, and compare them with "
    "simulations.",
    {
        "Commands": {
            "list": Entry("List the models.", "theory", "list_models", "LIST_EXAMPLES"),
            "show": Entry(
                "Show arguments, results and assumptions of a model.",
                "theory",
                "show_model",
                "SHOW_EXAMPLES",
            ),
            "eval": Entry("Evaluate a model.", "theory", "evaluate", "EVAL_EXAMPLES"),
            "choose": Entry(
                "Say which models apply to an experiment, and why.",
                "choosing",
                "choose",
                "CHOOSE_EXAMPLES",
            ),
            "agreement": Entry(
                "Compare theories with the simulations of a run.",
                "choosing",
                "agreement",
                "AGREEMENT_EXAMPLES",
            ),
        }
    },
    examples="  ethermeter theory list\n  ethermeter theory show lam-1980\n"
    '  ethermeter theory eval metcalfe-boggs-1976 stations=1..24 packet_bits="64 B" '
    'rate_bps="10 Mb/s" slot_s="12 us"',
)

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Name of a model; `ethermeter theory list` lists them.",
        autocompletion=completion.models,
    ),
]

LIST_EXAMPLES = "  ethermeter theory list\n  ethermeter theory list --json"
SHOW_EXAMPLES = "  ethermeter theory show lam-1980\n  ethermeter theory show tasaka-1986 --json"
EVAL_EXAMPLES = """\
  ethermeter theory eval metcalfe-boggs-1976 stations=1..24 packet_bits="64 B" rate_bps="10 Mb/s" \
slot_s="12 us"
  ethermeter theory eval tobagi-hunt-1980-one-persistent load=1e-3..1e3/13log propagation=0.01,0.1
  ethermeter theory eval lam-1980 arrival_rate=100,200 packet_s="1 ms,2 ms" weights=3,1 \
lengths=mix propagation_s="10 us"
  ethermeter theory eval coyle-liu-1983 stations=50 generation=0.02 retransmission=3 \
window=0.04 collision=0.04 --json"""


def list_models(*, as_json: options.Json = False) -> None:
    """List the models."""
    from ethermeter.theory.catalogue import models

    if as_json:
        print_json(
            [
                {"name": name, "title": entry.title, "year": entry.year}
                for name, entry in models().items()
            ]
        )
        return
    from ethermeter.present.models import catalogue

    show(catalogue(models()))


def show_model(name: ModelName, *, as_json: options.Json = False) -> None:
    """Show arguments, results and assumptions of a model, and how reliable it is."""
    from ethermeter.theory.catalogue import model

    entry = model(name)
    if as_json:
        print_json(_described(entry))
        return
    from ethermeter.present import models as layout

    show(layout.model(entry))


def evaluate(
    name: ModelName,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE...",
            show_default=False,
            help="Argument of the model: a number, with a unit or in that of the model; a list "
            "a,b,c; or a range from..to (step 1), from..to/50 (50 points), from..to/50log (50 "
            "points, logarithmic). All combinations are evaluated.",
        ),
    ] = None,
    *,
    as_json: options.Json = False,
) -> None:
    """Evaluate a model."""
    from ethermeter.cli.theory_values import evaluate as evaluate_model
    from ethermeter.theory.catalogue import model

    entry = model(name)
    found = evaluate_model(entry, arguments or [])
    if as_json:
        print_json(_as_json(entry, found))
        return
    from ethermeter.present import models as layout

    show(layout.evaluation(entry, found))


def _described(entry: "Model") -> dict[str, object]:
    """Return an entry of the catalogue as JSON has it."""
    return {
        "name": entry.name,
        "title": entry.title,
        "year": entry.year,
        "symbols": [
            {
                "argument": symbol.argument,
                "symbol": symbol.symbol,
                "unit": symbol.unit,
                "meaning": symbol.meaning,
                "range": symbol.range,
                "required": symbol.required,
                "default": None if symbol.required else symbol.default,
            }
            for symbol in entry.symbols
        ],
        "outputs": [
            {
                "field": field.field,
                "symbol": field.symbol,
                "unit": field.unit,
                "meaning": field.meaning,
                "axis": field.axis,
            }
            for field in entry.outputs
        ],
        "assumptions": {str(assumption.key): assumption.text for assumption in entry.assumptions},
        "validity": entry.validity,
        "confidence": entry.confidence,
        "source": entry.source,
        "notes": list(entry.notes),
    }


def _as_json(entry: "Model", found: "Evaluation") -> dict[str, object]:
    """Return what was found, one point after the other; what is undefined is null."""
    from ethermeter.arguments import OUTSIDE

    points = [
        {
            "given": {argument: values[at] for argument, values in found.varied.items()},
            "found": {field.field: found.value(field.field, at) for field in entry.outputs},
            "cautions": [OUTSIDE] if found.outside[at] else [],
        }
        for at in range(found.points)
    ]
    units = {symbol.argument: symbol.unit for symbol in entry.symbols} | {
        field.field: field.unit for field in entry.outputs
    }
    return {"model": entry.name, "units": units, "fixed": found.fixed, "points": points}
