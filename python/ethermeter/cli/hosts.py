"""The command about the hosts of a laboratory."""

from collections.abc import Iterator, Mapping

from ethermeter.api.hosts import Certified, CheckedHost, HostsOptions, hosts
from ethermeter.cli.command import Command
from ethermeter.cli.guard import BUSY, FAILED, UNDECIDED

EXAMPLES = """\
  ethermeter hosts hosts.toml --certify
  ethermeter hosts hosts.toml
  ethermeter hosts hosts.toml --json"""
Found = Mapping[str, CheckedHost] | Certified


def blocks(found: Found, options: HostsOptions) -> Iterator[object]:
    """Yield what a terminal shows of hosts, or of their certificates."""
    from ethermeter.present import hosts as layout

    if isinstance(found, Certified):
        yield from layout.certificates(found, options.file)
    else:
        yield from layout.hosts(found)


def plain(found: Found) -> object:
    """Return hosts, or their certificates, as JSON values."""
    from msgspec import to_builtins

    return to_builtins(found)


def rows(found: Found) -> Iterator[dict[str, object]]:
    """Yield a row for each host."""
    from msgspec import to_builtins

    if isinstance(found, Certified):
        for name, line in found.agents.items():
            yield {"name": name, "agent": line}
        return
    for name, host in found.items():
        yield {"name": name, **to_builtins(host)}


def end(found: Found, options: HostsOptions) -> int:
    """Return the exit code: of a fault before that of a busy host."""
    if isinstance(found, Certified):
        return 0
    if any(host.faults for host in found.values()):
        return FAILED
    if any(host.busy for host in found.values()):
        return BUSY
    return UNDECIDED if any(host.busy is None for host in found.values()) else 0


COMMAND = Command(hosts, EXAMPLES, blocks=blocks, plain=plain, rows=rows, end=end)
