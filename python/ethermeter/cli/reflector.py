"""The command that makes this host a STAMP reflector."""

from collections.abc import Callable, Iterator, Mapping

import click

from ethermeter.api.reflector import ReflectorOptions, reflector
from ethermeter.cli.command import Command, Form

EXAMPLES = """\
  ethermeter reflector
  ethermeter reflector --listen 10.0.0.1:862 --allow 10.0.0.0/24
  ethermeter reflector --listen 10.0.0.1:862 --allow 10.0.0.7 --key-file stamp.key --rate 200"""


def blocks(counts: Mapping[str, int], options: ReflectorOptions) -> Iterator[object]:
    """Yield what a terminal shows of the counters."""
    from ethermeter.blocks import Text

    for name, count in counts.items():
        yield Text(f"{name.replace('_', ' ')}: {count}")


def parts(options: ReflectorOptions, form: Form) -> Callable[[str], None]:
    """Return what says where it listens: on stdout, unless that has the counters as JSON."""
    return lambda place: click.echo(place, err=form != "text")


COMMAND = Command(reflector, EXAMPLES, blocks=blocks, parts=parts)
