"""The catalogue says of every model what its function takes and gives, and the documentation names
it.
"""

import inspect
import re
import sys
from dataclasses import fields

import numpy as np
import pytest
from documents import page
from ethermeter import theory
from ethermeter.arguments import Range
from ethermeter.theory.catalogue import model, models
from ethermeter.theory.entry import OF_MEDIA, OF_QUEUES, OF_TRANSFERS
from program import call
from theory_points import POINTS

MODELS = models()
ASPECTS = (OF_MEDIA, OF_QUEUES, OF_TRANSFERS)
UNITS = {"", "s", "bit", "bit/s", "1/s", "slots", "packet times"}
TEXT = page("docs/explanation/theory.md")


def test_every_function_of_a_study_is_in_the_catalogue():
    functions = {name for name in theory.__all__ if re.search(r"_(19|20)\d\d", name)}
    assert {entry.function.__name__ for entry in MODELS.values()} == functions
    assert set(POINTS) == set(MODELS)


@pytest.mark.parametrize("entry", MODELS.values(), ids=lambda entry: entry.name)
def test_an_entry_says_what_its_function_takes_and_gives(entry):
    assert entry.name == entry.function.__name__.replace("_", "-")
    assert str(entry.year) in entry.name
    taken = inspect.signature(entry.function).parameters
    assert [symbol.argument for symbol in entry.symbols] == list(taken)
    for symbol in entry.symbols:
        default = taken[symbol.argument].default
        assert symbol.required if default is inspect.Parameter.empty else symbol.default == default
        assert (
            isinstance(symbol.allowed, Range)
            or symbol.required
            or str(symbol.default).lower() in symbol.allowed
        )
    found = entry.function(**POINTS[entry.name])
    assert [output.field for output in entry.outputs] == [
        field.name for field in fields(found) if field.name != "outside_range"
    ]
    assert {symbol.unit for symbol in entry.symbols} | {
        output.unit for output in entry.outputs
    } <= UNITS


@pytest.mark.parametrize("entry", MODELS.values(), ids=lambda entry: entry.name)
def test_an_entry_says_something_of_every_aspect(entry):
    assert tuple(assumption.key for assumption in entry.assumptions) in ASPECTS
    texts = [
        entry.title,
        entry.source,
        entry.confidence,
        entry.validity,
        *(assumption.text for assumption in entry.assumptions),
    ]
    assert all(text and text.isprintable() for text in texts)
    assert str(entry.year) in entry.source
    documented = inspect.getdoc(entry.function) or ""
    assert all(symbol.argument in documented for symbol in entry.symbols)
    assert "Source\n------" in documented


def test_doubts_are_said():
    assert "artefact" in model("takagi-kleinrock-1985-double-peak").title
    assert "doubtful" in model("bux-1981-slotted-ring").confidence


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(theory.ArgumentError, match="one of kleinrock-tobagi-1975, "):
        model("lam")


def test_the_documentation_names_every_model():
    assert set(re.findall(r"^\| `([a-z-]+-\d{4}[a-z0-9-]*)` \|", TEXT, re.MULTILINE)) == set(MODELS)


def test_the_documented_python_runs():
    block = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(block, names)
    assert names["found"].throughput.shape == (3, 2)  # type: ignore[attr-defined]


def test_theory_comes_on_demand():
    code = (
        "import sys, ethermeter as em\nprint('numpy' in sys.modules)\n"
        "em.theory.lam_1980\nprint('numpy' in sys.modules)\n"
    )
    code += "from ethermeter import *\nprint(theory.__name__)"
    assert call([sys.executable, "-c", code]).stdout.split() == [
        "False",
        "True",
        "ethermeter.theory",
    ]


def test_theory_needs_nothing_else_of_ethermeter():
    code = "import sys\nimport ethermeter.theory.catalogue\n"
    code += (
        "print(sorted(name for name in sys.modules if "
        "name.startswith('ethermeter.') and '.theory' not in name))"
    )
    assert (
        call([sys.executable, "-c", code]).stdout.strip()
        == "['ethermeter.arguments', 'ethermeter.faults']"
    )


def test_zero_dimensions_give_numbers():
    found = theory.kleinrock_tobagi_1975(np.array(1.0), propagation=0.05)
    assert isinstance(found.throughput, np.float64)


def test_a_model_has_a_signature_that_can_be_read_and_the_package_lists_its_models_alone():
    assert dir(theory) == sorted(theory.__all__)
    for name in theory.__all__:
        if hasattr(getattr(theory, name), "entry"):
            assert len(str(inspect.signature(getattr(theory, name)))) < 300, name
