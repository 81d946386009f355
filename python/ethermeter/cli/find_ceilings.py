"""The command that measures what each stage of this host can do."""

from collections.abc import Iterator, Mapping

from ethermeter import json_values
from ethermeter.api.find.ceilings import CeilingsOptions, Surveyed, ceilings
from ethermeter.cli.command import Command

EXAMPLES = """\
  ethermeter find ceilings quick=yes
  ethermeter find ceilings rate='1 Gb/s' round-trip='20 ms' window='64 kB' --json
  ethermeter find ceilings quick=yes --figure ceilings.html
  ethermeter find ceilings --roofline runs/four-senders-0123456789ab --figure roofline.svg"""


def blocks(found: Surveyed, options: CeilingsOptions) -> Iterator[object]:
    """Yield the ceilings of this host, or those along paths."""
    from ethermeter.blocks import Code
    from ethermeter.present import ceilings as layout
    from ethermeter.present import rooflines

    if isinstance(found, tuple):
        yield from rooflines.rooflines(found)
    else:
        yield from layout.ceilings(found)
    if options.figure is not None:
        yield Code(str(options.figure))


def plain(found: Surveyed) -> object:
    """Return ceilings, or rooflines, as JSON values."""
    import msgspec

    from ethermeter.analysis.roofline import RooflineEntry

    if isinstance(found, tuple):
        return [msgspec.to_builtins(RooflineEntry.of(each)) for each in found]
    return json_values.plain(found)


def rows(found: Surveyed) -> Iterator[Mapping[str, object]]:
    """Yield a row for each stage."""
    import msgspec

    from ethermeter.analysis.roofline import RooflineEntry

    if isinstance(found, tuple):
        for each in found:
            for stage in RooflineEntry.of(each).stages:
                yield {"title": each.title, **msgspec.to_builtins(stage)}
        return
    for ceiling in found.ceilings:
        row = json_values.plain(ceiling)
        assert isinstance(row, dict), "of a dataclass"
        yield row


_SETTINGS = ("rate", "round-trip", "window", "directory")
COMMAND = Command(
    ceilings,
    EXAMPLES,
    blocks=blocks,
    plain=plain,
    rows=rows,
    former={
        "--out": "--figure FILE",
        "--quick": "quick=yes",
        **{f"--{name}": f"{name}=VALUE" for name in _SETTINGS},
    },
)
