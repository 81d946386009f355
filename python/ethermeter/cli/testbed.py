"""Commands on testbeds: hosts on this machine, as network namespaces."""

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from ethermeter.cli import options
from ethermeter.cli.guard import command
from ethermeter.cli.help import group
from ethermeter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from ethermeter.testbed import KeptTestbed, Wire

UP_EXAMPLES = """\
  ethermeter testbed up
  ethermeter testbed up --hosts 4 --layout switch --rate "10 Mb/s" --json
  ethermeter testbed up --wire relay --rate "10 Mb/s" --delay "50 us" --loss 0.01
  ip netns exec em-1234-abcd-h1 ip address"""
DOWN_EXAMPLES = "  ethermeter testbed down em-1234-abcd\n  ethermeter testbed down --all --json"
SHOW_EXAMPLES = "  ethermeter testbed show\n  ethermeter testbed show --json"

app = group(
    "testbed",
    "Make virtual hosts on this machine, joined by virtual Ethernet, and remove them. Needs root.",
    {
        "Commands": {
            "up": "Make a testbed that exists until it is taken down.",
            "down": "Remove testbeds.",
            "show": "List testbeds.",
        }
    },
    examples=UP_EXAMPLES + "\n  ethermeter testbed show",
)


def up(
    *,
    hosts: Annotated[int, typer.Option("--hosts", metavar="N", help="Number of hosts.")] = 2,
    layout: Annotated[
        Literal["pair", "switch"] | None,
        typer.Option(
            "--layout",
            help="How they are joined: two as a pair, more at a switch.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Line rate of each wire; unlimited without.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        Literal["shaped", "relay"],
        typer.Option(
            "--wire",
            help="What limits the rate: a token bucket, or a process that delays lone frames too.",
        ),
    ] = "shaped",
    delay: Annotated[
        str, typer.Option("--delay", metavar="TIME", help="Propagation delay of each wire (relay).")
    ] = "0 s",
    loss: Annotated[
        float,
        typer.Option("--loss", metavar="P", help="Probability that a wire loses a frame (relay)."),
    ] = 0.0,
    lose_every: Annotated[
        int | None,
        typer.Option(
            "--lose-every",
            metavar="N",
            help="Lose every N-th frame instead (relay).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the losses.")] = 1,
    queue: Annotated[
        str,
        typer.Option("--queue", metavar="SIZE", help="Queue size before a wire with a rate."),
    ] = "150 kB",
    mtu: Annotated[int, typer.Option("--mtu", metavar="OCTETS", help="Longest IP packet.")] = 1500,
    as_json: options.Json = False,
) -> None:
    """Make a testbed that exists until it is taken down."""
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    wire = None
    if rate is not None:
        wire = testbed.Wire(
            _read("--rate", rate, "rate"),
            _read("--queue", queue, "size"),
            kind=kind,
            delay_ns=_read("--delay", delay, "time"),
            loss=loss,
            lose_every=lose_every,
            seed=seed,
        )
    elif kind == "relay":
        refuse("--rate", "not given", "a rate for relayed wires")
    of = layout or ("pair" if hosts == 2 else "switch")
    made = testbed.keep_testbed(hosts, layout=of, wires=wire, mtu=mtu)
    kept = testbed.kept()[made.name]
    if as_json:
        print_json({"name": made.name, **msgspec.to_builtins(kept)})
        return
    _print(made.name, kept)
    typer.echo(
        f"on its first host: ip netns exec {made.hosts[0].namespace} COMMAND; "
        f"to remove it: ethermeter testbed down {made.name}"
    )


def down(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]", show_default=False, help="Testbeds, as `show` lists them."
        ),
    ] = None,
    *,
    every: Annotated[
        bool,
        typer.Option("--all", help="All, and those of killed processes."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Remove testbeds. Those of running measurements are not listed, and end with these.

    The results of relayed wires are printed with --json.
    """
    from ethermeter import testbed
    from ethermeter.cli.voice_values import refuse

    there = testbed.kept()
    if bool(names) == every:
        refuse("NAME", "given with --all" if every else "not given", "names of testbeds, or --all")
    for name in names or ():
        if name not in there:
            refuse(
                "NAME",
                name,
                f"one of {', '.join(there)}" if there else "a testbed; there is none",
            )
    removed = list(dict.fromkeys(names or there))
    results = {name: testbed.remove_kept(name) for name in removed}
    removed += testbed.remove_leftovers() if every else []
    if as_json:
        wires = {name: result for name, result in results.items() if result is not None}
        output = {"removed": removed, **({"wires": wires} if wires else {})}
        print_json(msgspec.to_builtins(output))
        return
    typer.echo("\n".join(f"{name}: removed" for name in removed) or "there is nothing to remove")


def show(*, as_json: options.Json = False) -> None:
    """List testbeds."""
    from ethermeter import testbed

    there = testbed.kept()
    if as_json:
        print_json([{"name": name, **msgspec.to_builtins(kept)} for name, kept in there.items()])
        return
    if not there:
        typer.echo("there is no testbed")
    for name, kept in there.items():
        _print(name, kept)


def _print(name: str, kept: "KeptTestbed") -> None:
    typer.echo(f"{name}: {len(kept.hosts)} hosts, {kept.layout}, MTU {kept.mtu}")
    for number, wire in enumerate(kept.wires, 1):
        typer.echo(f"  wire of host {number}: {_description(wire)}")
    print_table(
        ["namespace", "interface", "mac", "ipv4", "ipv6"],
        [[host.namespace, host.interface, host.mac, host.ipv4, host.ipv6] for host in kept.hosts],
    )


def _description(wire: "Wire | None") -> str:
    if wire is None:
        return "unshaped"
    words = [wire.kind, f"{wire.rate_bps / 1e6:g} Mb/s", f"queue {wire.queue_octets} B"]
    if wire.kind == "relay":
        words.append(f"delay {wire.delay_ns / 1e3:g} us")
        if wire.loss > 0:
            words.append(f"loss {wire.loss:g}")
        if wire.lose_every is not None:
            words.append(f"one of {wire.lose_every} frames lost")
    return ", ".join(words)


def _read(option: str, text: str, what: Literal["rate", "size", "time"]) -> int:
    """Read a rate in bit/s, a size in octets, or a time in ns."""
    from ethermeter import units
    from ethermeter.cli.voice_values import refuse

    try:
        if what == "rate":
            return round(units.rate_bps(text))
        if what == "time":
            return units.time_ps(text) // 1000
        bits = units.size_bits(text, positive=True)
    except units.UnitError as error:
        refuse(option, text, str(error))
    return bits // 8


command(app, "up", examples=UP_EXAMPLES)(up)
command(app, "down", examples=DOWN_EXAMPLES)(down)
command(app, "show", examples=SHOW_EXAMPLES)(show)
