"""The command that makes this host one that can be measured with."""

from collections.abc import Callable

import click

from ethermeter.api.agent import AgentOptions, agent
from ethermeter.cli.command import Command, Form

EXAMPLES = """\
  ethermeter agent --listen 127.0.0.1:4988
  ethermeter agent --listen 10.0.0.1:4988 --credentials sender.pem --ceilings ceilings.toml"""


def parts(options: AgentOptions, form: Form) -> Callable[[str], None]:
    """Return what says on stdout where it listens, at once: who started it waits for that."""
    return lambda place: click.echo(place)


COMMAND = Command(
    agent,
    EXAMPLES,
    parts=parts,
    former={
        "--authority": "--credentials CERTIFICATE, beside which is authority.pem",
        "--certificate": "--credentials CERTIFICATE",
        "--key": "--credentials CERTIFICATE, beside which is its key",
    },
)
