"""Commands on testbeds: hosts on this machine, as network namespaces."""

from typing import Annotated, Any, Literal

import typer

from ethermeter.cli import options
from ethermeter.cli.guard import command
from ethermeter.cli.output import print_json, print_table

UP_EXAMPLES = """\
  ethermeter testbed up
  ethermeter testbed up --hosts 4 --layout switch --rate "10 Mb/s" --json
  ip netns exec em-1234-abcd-h1 ip address"""
DOWN_EXAMPLES = "  ethermeter testbed down em-1234-abcd\n  ethermeter testbed down --all"
SHOW_EXAMPLES = "  ethermeter testbed show\n  ethermeter testbed show --json"

app = typer.Typer(
    name="testbed",
    help="Make hosts on this machine, joined by virtual Ethernet, and remove them. Needs root.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def up(
    *,
    hosts: Annotated[int, typer.Option("--hosts", metavar="N", help="How many.")] = 2,
    layout: Annotated[
        Literal["pair", "switch"] | None,
        typer.Option("--layout", help="How they are joined: two as a pair, more at a switch.", show_default=False),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="RATE", help="Let each wire carry what an Ethernet of that rate would.", show_default=False),
    ] = None,
    queue: Annotated[str, typer.Option("--queue", metavar="SIZE", help="Room for frames that wait for a wire with a rate.")] = "150 kB",
    mtu: Annotated[int, typer.Option("--mtu", metavar="OCTETS", help="Longest IP packet.")] = 1500,
    as_json: options.Json = False,
) -> None:
    """Make a testbed that stays until it is taken down."""
    from ethermeter import testbed

    wire = None if rate is None else testbed.Wire(_read("--rate", rate, "rate"), _read("--queue", queue, "size"))
    of = layout or ("pair" if hosts == 2 else "switch")
    made = testbed.keep_testbed(hosts, layout=of, wires=wire, mtu=mtu)
    about = testbed.kept()[made.name]
    if as_json:
        print_json({"name": made.name, **about})
        return
    _print(made.name, about)
    typer.echo(f"on its first host: ip netns exec {made.hosts[0].namespace} COMMAND; to remove it: ethermeter testbed down {made.name}")


def down(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", show_default=False, help="Testbeds, as `show` lists them.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All that were made to stay, and what killed processes left.")] = False,
    as_json: options.Json = False,
) -> None:
    """Remove testbeds that were made to stay. Those of running measurements go with these."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    there = testbed.kept()
    if bool(names) == every:
        refuse("NAME", "given with --all" if every else "not given", "names of testbeds, or --all")
    for name in names or ():
        if name not in there:
            refuse("NAME", name, f"one of {', '.join(there)}" if there else "a testbed that was made to stay; there is none")
    removed = list(dict.fromkeys(names or there))
    for name in removed:
        testbed.remove_kept(name)
    removed += testbed.remove_leftovers() if every else []
    if as_json:
        print_json({"removed": removed})
        return
    typer.echo("\n".join(f"{name}: removed" for name in removed) or "there is nothing to remove")


def show(*, as_json: options.Json = False) -> None:
    """List testbeds that were made to stay."""
    from ethermeter import testbed

    there = testbed.kept()
    if as_json:
        print_json([{"name": name, **about} for name, about in there.items()])
        return
    if not there:
        typer.echo("no testbed was made to stay")
    for name, about in there.items():
        _print(name, about)


def _print(name: str, about: dict[str, Any]) -> None:
    typer.echo(f"{name}: {len(about['hosts'])} hosts, {about['layout']}, MTU {about['mtu']}")
    heads = ["namespace", "interface", "mac", "ipv4", "ipv6"]
    print_table(heads, [[str(host[head]) for head in heads] for host in about["hosts"]])


def _read(option: str, text: str, what: Literal["rate", "size"]) -> int:
    """Read a rate in bit/s, or a size in octets."""
    from ethermeter import units
    from ethermeter.cli.voice_values import refuse

    try:
        if what == "rate":
            return round(units.rate_bps(text))
        bits = units.size_bits(text, positive=True)
    except units.UnitError as error:
        refuse(option, text, str(error))
    return bits // 8


command(app, "up", examples=UP_EXAMPLES)(up)
command(app, "down", examples=DOWN_EXAMPLES)(down)
command(app, "show", examples=SHOW_EXAMPLES)(show)
