"""Shell completion: the names that may stand where the cursor is, each with what it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ethermeter.experiment.toml import Tables

Item = tuple[str, str]
"""What may be typed, and what it is."""

_TITLE = re.compile(r'^title = "(.*)"$', re.MULTILINE)
_MOST_FILES = 200


def experiments(context: click.Context, incomplete: str) -> list[Item]:
    """Return shipped experiments, and files of experiments."""
    from ethermeter.experiment import shipped

    named = [
        (name, _title(path)) for name, path in shipped().items() if name.startswith(incomplete)
    ]
    return named + files(incomplete, ".toml")


def calls_venues(context: click.Context, incomplete: str) -> list[Item]:
    """Return where calls may be: on the segments of standards, and in experiments."""
    from ethermeter.experiment.segment import standards

    return [(name, "longest segment") for name in standards()] + experiments(context, incomplete)


def files(incomplete: str, suffix: str) -> list[Item]:
    """Return files with a suffix, and the directories they may be in."""
    folder, _, begin = incomplete.rpartition("/")
    root = Path(folder or ("/" if incomplete.startswith("/") else "."))
    found = []
    for path in sorted(root.glob("*"))[:_MOST_FILES]:
        if path.name.startswith(begin) and not path.name.startswith("."):
            name = f"{folder}/{path.name}" if "/" in incomplete else path.name
            if path.is_dir():
                found.append((f"{name}/", "directory"))
            elif path.suffix == suffix:
                found.append((name, _title(path)))
    return found


def runs(context: click.Context, incomplete: str) -> list[Item]:
    """Return run directories."""
    from ethermeter.execution import RUNS

    folders = [*Path().glob("*/plan.jsonl"), *RUNS.glob("*/plan.jsonl")]
    folders += Path(incomplete.rpartition("/")[0] or ".").glob("*/plan.jsonl")
    return [(str(path.parent), "run") for path in dict.fromkeys(folders)]


def studies(context: click.Context, incomplete: str) -> list[Item]:
    """Return the published studies."""
    from ethermeter.studies import registry

    return [(name, registry.find(name).presentation.title) for name in registry.names()]


def reproducible(context: click.Context, incomplete: str) -> list[Item]:
    """Return the published studies, and the word for all of them."""
    from ethermeter.api.study import ALL

    return [*studies(context, incomplete), (ALL, "every study, on one page")]


def venues(context: click.Context, incomplete: str) -> list[Item]:
    """Return where can be measured: on a testbed, on the loopback interface, and files."""
    kinds = [
        ("testbed", "hosts on this machine, links have rates"),
        ("testbed,relay", "links delay single frames, too"),
        ("testbed,plain", "all hosts at one switch"),
        ("loopback", "this machine's loopback interface"),
    ]
    return kinds + files(incomplete, ".toml")


def testbeds(context: click.Context, incomplete: str) -> list[Item]:
    """Return where transfers can be run."""
    return [("testbed", "hosts on this machine")]


def metrics(context: click.Context, incomplete: str) -> list[Item]:
    """Return the metrics."""
    from ethermeter.metrics import Metric

    return [(metric.value, metric.label.axis) for metric in Metric]


def conditions(context: click.Context, incomplete: str) -> list[Item]:
    """Return metrics as the begin of a condition, of one flow where one is typed already."""
    of, colon, _ = incomplete.rpartition(": ")
    return [(f"{of}{colon}{name} ", text) for name, text in metrics(context, incomplete)]


def models(context: click.Context, incomplete: str) -> list[Item]:
    """Return the models of theory and of voice."""
    from ethermeter.models.catalogue import titles

    return [(each.name, each.title) for each in titles()]


def model_arguments(context: click.Context, incomplete: str) -> list[Item]:
    """Return arguments of the model that is named before, and behind `=` words that they may be."""
    from ethermeter.models.catalogue import models as known
    from ethermeter.theory.entry import KEY

    entry = known().get(str(context.params.get("name") or next(iter(context.args), "")))
    if entry is None:
        return []
    name, equals, begin = incomplete.partition("=")
    if not equals:
        return [
            (f"{each.argument}=", each.meaning) for each in entry.symbols if each.argument != KEY
        ]
    symbol = entry.symbol(name)
    if symbol is not None and isinstance(symbol.allowed, tuple):
        before, comma, _ = begin.rpartition(",")  # of a list, the last word is typed
        about = {each.name: getattr(each, "title", "") for each in entry.data}
        return [(f"{name}={before}{comma}{word}", about.get(word, "")) for word in symbol.allowed]
    if name == "run":
        return [(f"{name}={path}", text) for path, text in runs(context, begin)]
    return []


def codecs(context: click.Context, incomplete: str) -> list[Item]:
    """Return the codecs."""
    from ethermeter.voice.codecs import CODECS

    return [(name, codec.title) for name, codec in CODECS.items()]


def patterns(context: click.Context, incomplete: str) -> list[Item]:
    """Return the patterns of talk spurts."""
    from ethermeter.voice.talk import PATTERNS

    return [(name, pattern.source) for name, pattern in PATTERNS.items()]


def suites(context: click.Context, incomplete: str) -> list[Item]:
    """Return the suites of benchmarks."""
    from ethermeter.benchmark.suites import ABOUT

    return list(ABOUT.items())


def transfers(context: click.Context, incomplete: str) -> list[Item]:
    """Return shipped transfers, and files."""
    from ethermeter.bottleneck import transfers as known

    named = [(name, _title(path)) for name, path in known().items()]
    return named + files(incomplete, ".toml")


def engines(context: click.Context, incomplete: str) -> list[Item]:
    """Return engines that answer a search."""
    from ethermeter.theory.assumptions import NETWORK_MODELS

    networks = [(f"theory/{name}", "of networks") for name in NETWORK_MODELS]
    theories = [
        (f"{kind}/{name}", text) for kind in ("theory", "idealised") for name, text in _theories()
    ]
    return [("simulation", "simulated"), ("live", "measured"), *networks, *theories]


def _theories() -> list[Item]:
    from ethermeter.theory.catalogue import models as known

    return [(name, entry.title) for name, entry in known().items()]


def assignments(context: click.Context, incomplete: str) -> list[Item]:
    """Return the keys of the experiment that is named before, as `--set` takes them."""
    return [(f"{key}=", text) for key, text in _keys(context)]


def keys(context: click.Context, incomplete: str) -> list[Item]:
    """Return the keys of the experiment that is named before."""
    return list(_keys(context))


def hosts(context: click.Context, incomplete: str) -> list[Item]:
    """Return the hosts of the experiment that is named before."""
    network = _document(context).get("network")
    tables = network.get("hosts", []) if isinstance(network, Mapping) else []
    return [(table["name"], "host") for table in tables if isinstance(table, Mapping)]


def _document(context: click.Context) -> "Tables":
    """Return the experiment that is named before, with the rows of its message tables.

    It is empty if it cannot be read.
    """
    from ethermeter.api.experiments import locate
    from ethermeter.experiment import toml
    from ethermeter.experiment.shorthand import with_tables
    from ethermeter.faults import InputError

    # Behind an option without its value, arguments are not assigned to parameters yet.
    files = context.params.get("files") or context.args
    named = str(context.params.get("experiment") or next(iter(files), ""))
    try:
        path = locate(named)
        document = toml.parsed(toml.text_of(path, file=named), file=named)
        return with_tables(document, file=named, folder=path.parent)[0].document
    except InputError:
        return {}


def _keys(context: click.Context) -> Iterator[Item]:
    from ethermeter.experiment.document import TABLES, tables_of

    document = _document(context)
    if not document:
        return
    for top in TABLES:
        if top in document or top in tables_of(document):
            yield from _below(document, [top], document.get(top, {}), top)
    for top in ("title", "seed", "series", "notes"):
        yield top, _shown(document.get(top)) if top in document else ""


def _below(
    document: "Tables", path: Sequence[str | int], value: object, name: str
) -> Iterator[Item]:
    """Yield the keys below a value: those that it has, and those that it may have."""
    from ethermeter.experiment.document import Document
    from ethermeter.experiment.tables import keys_at

    if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        is_alone = len(value) == 1 and name == "stations"  # needs neither name nor number
        for at, each in enumerate(value):
            inner = name if is_alone else f"{name}.{each.get('name', at)}"
            yield from _below(document, [*path, at], each, inner)
    elif isinstance(value, Mapping):
        for key in dict.fromkeys([*value, *keys_at(Document, path)]):
            if key in value:
                yield from _below(document, [*path, key], value[key], f"{name}.{key}")
            else:
                yield f"{name}.{key}", "not set"
    else:
        yield name, _shown(value)


def _shown(value: object) -> str:
    from ethermeter.faults import shortened, shown

    return f"now {shortened(shown(value), 40)}"


def _title(path: Path) -> str:
    """Return the title of a file, read without its tables."""
    try:
        with path.open(encoding="utf-8") as file:
            found = _TITLE.search(file.read(2000))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""
