"""The command that lists, shows and copies the shipped experiments."""

import json
from collections.abc import Iterator, Mapping

from ethermeter import json_values
from ethermeter.api.shipped import Copy, ExperimentText, Found, Schema, Shipped, experiments
from ethermeter.blocks import Code
from ethermeter.cli.command import Command

EXAMPLES = """\
  ethermeter experiments
  ethermeter experiments voice
  ethermeter experiments all
  ethermeter experiments --show poisson-load
  ethermeter experiments --copy poisson-load my-network.toml
  ethermeter experiments --schema experiment > ethermeter.schema.json
  ethermeter experiments --schema estimates"""


def blocks(found: Found, _: object) -> Iterator[object]:
    """Yield the experiments, the lines of a file, or where a copy is."""
    from ethermeter.present import experiments as layouts

    match found:
        case Shipped(titles=titles, chosen=chosen):
            yield from layouts.shipped(titles, chosen=chosen)
        case Copy(name=name, file=file):
            yield from layouts.copied(name, file)
        case ExperimentText(text=text):
            yield Code(text.removesuffix("\n"))
        case Schema(schema=schema):
            yield Code(json.dumps(schema, indent=2, ensure_ascii=False))


def plain(found: Found) -> object:
    """Return what was found as JSON values."""
    match found:
        case Shipped(titles=inner) | Schema(schema=inner):
            return inner
        case _:
            return json_values.plain(found)


def rows(found: Found) -> Iterator[Mapping[str, object]]:
    """Yield a row for each experiment."""
    from ethermeter.faults import InputError

    if isinstance(found, Schema):
        raise InputError.of("command line", "--csv", "given with --schema", "expected without it")
    if isinstance(found, Shipped):
        yield from ({"name": name, "title": title} for name, title in found.titles.items())
    else:
        yield json_values.plain(found)  # type: ignore[misc]


COMMAND = Command(experiments, EXAMPLES, blocks=blocks, plain=plain, rows=rows)
