"""Commands on calls: what one is worth, what it puts on an Ethernet, how many there is room for."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ethermeter.cli import completion, options
from ethermeter.cli.help import Entry, group
from ethermeter.cli.output import print_json, show

if TYPE_CHECKING:
    from ethermeter.cli.voice_values import Columns
    from ethermeter.voice import Codec, Connection, Medium
    from ethermeter.voice.grid import Grid

EMODEL_EXAMPLES = """\
  ethermeter voice emodel
  ethermeter voice emodel --delay "0 ms..400 ms/9" --loss 0,1%,5% --codec g711-plc
  ethermeter voice emodel --delay "150 ms" --loss 2% --codec g729a --wanted 3.6 --json
  ethermeter voice emodel --delay "30 ms" --connection TELR=45"""
CODECS_EXAMPLES = """\
  ethermeter voice codecs
  ethermeter voice codecs g711 g729a --packet "10 ms,20 ms" --standard ieee-10
  ethermeter voice codecs opus --packet "2.5 ms,20 ms" --bit-rate "32 kb/s" --standard ieee-100 \
--ip ipv6 --json
  ethermeter voice codecs g711 --packet "8 ms" --standard experimental-3 --ip none \
--network "2 ms" --jitter-buffer "20 ms\""""
TALKERS_EXAMPLES = """\
  ethermeter voice talkers --talkers 80 --room 35..45
  ethermeter voice talkers --talkers 80 --exceeding 1% --pattern p59
  ethermeter voice talkers --room 40 --exceeding 1% --activity 0.4 --json"""
ERLANG_EXAMPLES = """\
  ethermeter voice erlang --circuits 40 --offered 20..40
  ethermeter voice erlang --circuits 40 --blocking 0.1%,1%
  ethermeter voice erlang --offered 30 --blocking 1% --json"""
T = TypeVar("T")

app = group(
    "voice",
    "Rate calls, cut speech into packets, and find how many calls there is room for.",
    {
        "Commands": {
            "emodel": Entry(
                "Rate narrowband calls by the E-model of ITU-T G.107.",
                "voice",
                "emodel",
                "EMODEL_EXAMPLES",
            ),
            "codecs": Entry(
                "List codecs, or cut their speech into packets.",
                "voice",
                "codecs",
                "CODECS_EXAMPLES",
            ),
            "talkers": Entry(
                "Relate users, active talkers and overflow probability.",
                "voice",
                "talkers",
                "TALKERS_EXAMPLES",
            ),
            "erlang": Entry("Evaluate Erlang's B formula.", "voice", "erlang", "ERLANG_EXAMPLES"),
            "admission": Entry(
                "Apply admission control to the calls of a run.",
                "admission",
                "admission",
                "EXAMPLES",
            ),
        }
    },
    examples="  ethermeter voice emodel\n  ethermeter voice erlang --circuits 40 --offered 20..40",
)

_LISTS = "one, or a list a,b,c or a range from..to/points"


def _list_option(name: str, meaning: str, metavar: str = "LIST") -> Any:
    return typer.Option(name, metavar=metavar, show_default=False, help=meaning)


CodecName = Annotated[
    str,
    typer.Option(
        "--codec",
        metavar="NAME",
        help="Name of a codec; `ethermeter voice codecs` lists them.",
        autocompletion=completion.codecs,
    ),
]


def emodel(
    *,
    delay: Annotated[
        str,
        _list_option(
            "--delay",
            f'Mouth-to-ear delay, with a unit or in s: {_LISTS}. "0 s" unless given.',
        ),
    ] = "0",
    loss: Annotated[
        str,
        _list_option(
            "--loss",
            f"Share of packets lost or late, a fraction or in %: {_LISTS}. 0 unless given.",
        ),
    ] = "0",
    codec: CodecName = "g711",
    burst_ratio: Annotated[
        str,
        _list_option(
            "--burst-ratio",
            "Burst ratio: mean length of loss runs over that of random loss. 1 unless given.",
        ),
    ] = "1",
    ie: Annotated[
        str | None, _list_option("--ie", "Equipment impairment factor, instead of the codec's.")
    ] = None,
    bpl: Annotated[
        str | None, _list_option("--bpl", "Packet-loss robustness factor, instead of the codec's.")
    ] = None,
    advantage: Annotated[
        str, _list_option("--advantage", "Advantage factor A. 0 unless given.")
    ] = "0",
    connection: Annotated[
        list[str] | None,
        typer.Option(
            "--connection",
            metavar="NAME=VALUE",
            show_default=False,
            help=(
                "Another parameter of G.107, by its name or symbol (TELR=45); can be given "
                "several times."
            ),
        ),
    ] = None,
    wanted: Annotated[
        str | None,
        _list_option(
            "--wanted",
            "Mean opinion score; the largest loss and the largest delay that allow it are "
            "computed, too.",
            "MOS",
        ),
    ] = None,
    simple: Annotated[
        bool, typer.Option("--simple", help="Use the simplified form of Cole and Rosenbluth.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Rate narrowband calls by the E-model of ITU-T G.107."""
    from ethermeter import voice
    from ethermeter.cli.voice_values import connection_from, evaluated, one_of, refuse

    texts = {
        "delay": delay,
        "loss": loss,
        "burst_ratio": burst_ratio,
        "ie": ie,
        "bpl": bpl,
        "advantage": advantage,
        "wanted": wanted,
    }
    one_of("--codec", codec, voice.CODECS)
    known = connection_from(connection or [])
    if simple:
        for name, given in (
            ("--wanted", wanted),
            ("--connection", connection),
            ("--advantage", advantage != "0"),
        ):
            if given:
                refuse(name, "given", "not with --simple, whose model has no such input")
        del texts["advantage"]

    rate = (
        partial(_simple_rating, codec=codec)
        if simple
        else partial(_rating, codec=codec, connection=known)
    )
    _show(evaluated(texts, rate), {"codec": codec}, as_json=as_json)


def _simple_rating(values: "Columns", *, codec: str) -> "Columns":
    from ethermeter.voice import cole_rosenbluth_2001

    found = cole_rosenbluth_2001(
        values["delay"],
        values["loss"],
        codec=codec,
        burst_ratio=values["burst_ratio"],
        ie=values.get("ie"),
        bpl=values.get("bpl"),
    )
    return {"r": found.r, "mos": found.mos, "id": found.id_, "ie_eff": found.ie_eff}


def _rating(values: "Columns", *, codec: str, connection: "Connection") -> "Columns":
    """Rate calls, and find the largest loss and delay where a mean opinion score is wanted."""
    from ethermeter import voice

    def rated(function: Callable[..., T]) -> Callable[..., T]:
        return partial(
            function,
            codec=codec,
            burst_ratio=values["burst_ratio"],
            ie=values.get("ie"),
            bpl=values.get("bpl"),
            advantage=values["advantage"],
            connection=connection,
        )

    delay, loss = values["delay"], values["loss"]
    full = rated(voice.e_model)(delay, loss)
    found = {
        "r": full.r,
        "mos": full.mos,
        "ro": full.ro,
        "is": full.is_,
        "id": full.id_,
        "ie_eff": full.ie_eff,
    }
    if "wanted" in values:
        most_loss = rated(voice.largest_loss)(values["wanted"], delay_s=delay)
        most_delay = rated(voice.largest_delay)(values["wanted"], loss=loss)
        found |= {"largest_loss": most_loss.value, "largest_delay": most_delay.value}
    return {**found, "outside_range": full.outside_range}


def codecs(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CODEC...]",
            show_default=False,
            help="Names of codecs; all unless given.",
            autocompletion=completion.codecs,
        ),
    ] = None,
    *,
    packet: Annotated[
        str | None,
        _list_option(
            "--packet", f"Duration of the speech in a packet, with a unit or in s: {_LISTS}."
        ),
    ] = None,
    standard: Annotated[
        str,
        typer.Option(
            "--standard", metavar="NAME", help="Standard of the segment that carries the packets."
        ),
    ] = "ieee-10",
    ip: Annotated[
        str,
        typer.Option(
            "--ip",
            metavar="ipv4|ipv6|none",
            help="Headers between speech and frame: RTP, UDP and IPv4 or IPv6, or none.",
        ),
    ] = "ipv4",
    bit_rate: Annotated[
        str | None, _list_option("--bit-rate", "Bit rate of a codec that has several.")
    ] = None,
    network: Annotated[
        str | None,
        _list_option(
            "--network", "Delay of the network; adds the mouth-to-ear delay to the table."
        ),
    ] = None,
    jitter_buffer: Annotated[
        str | None,
        _list_option("--jitter-buffer", "Delay of the receiver's buffer. 0 unless given."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List codecs, or cut their speech into packets."""
    from ethermeter import voice
    from ethermeter.cli.voice_values import evaluated, medium_named, one_of, refuse

    chosen = [one_of("CODEC", name, voice.CODECS) for name in names or voice.CODECS]
    if packet is None:
        for name, given in (
            ("--bit-rate", bit_rate),
            ("--network", network),
            ("--jitter-buffer", jitter_buffer),
        ):
            if given is not None:
                refuse(name, given, "only with --packet")
        _show_codecs([voice.CODECS[name] for name in chosen], as_json=as_json)
        return
    if not names:
        refuse("CODEC", "not given", f"with --packet, at least one of {', '.join(voice.CODECS)}")
    if jitter_buffer is not None and network is None:
        refuse("--jitter-buffer", jitter_buffer, "only with --network")
    medium = medium_named(standard)
    texts = {
        "packet": packet,
        "bit_rate": bit_rate,
        "network": network,
        "jitter_buffer": jitter_buffer,
    }

    grids = {name: evaluated(texts, partial(_cut, name, medium=medium, ip=ip)) for name in chosen}
    if as_json:
        print_json(
            [
                {"codec": name, "standard": standard, "ip": ip, **grid.as_json()}
                for name, grid in grids.items()
            ]
        )
        return
    from ethermeter.present import voice as layout

    show(layout.packets(grids, standard, ip))


def _cut(name: str, values: "Columns", *, medium: "Medium", ip: str) -> "Columns":
    """Cut the speech of a codec into packets; with the delay of a network, from mouth to ear."""
    from ethermeter import voice

    made = voice.packets(
        name,
        packet_s=values["packet"],
        medium=medium,
        ip=ip,
        bit_rate_bps=values.get("bit_rate"),
    )
    found = {field: getattr(made, field) for field in made.__slots__}
    if (network_s := values.get("network")) is not None:
        found["mouth_to_ear"] = voice.mouth_to_ear(
            name,
            packet_s=values["packet"],
            network_s=network_s,
            jitter_buffer_s=values.get("jitter_buffer", 0.0),
        ).delay_s
    return found


def talkers(
    *,
    talkers: Annotated[
        str | None,
        _list_option("--talkers", f"Number of independent talkers, two for each call: {_LISTS}."),
    ] = None,
    room: Annotated[
        str | None, _list_option("--room", "Number of talkers who may talk at the same time.")
    ] = None,
    exceeding: Annotated[
        str | None,
        _list_option("--exceeding", "Probability that more than --room talk, a fraction or in %."),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern", metavar="NAME", help="Pattern of talk spurts: brady-1968 or p59."
        ),
    ] = "brady-1968",
    activity: Annotated[
        str | None,
        _list_option(
            "--activity", "Fraction of time in which each talker talks; instead of --pattern."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compute the number of active talkers: give two of --talkers, --room and --exceeding."""
    from ethermeter import voice
    from ethermeter.cli.voice_values import evaluated, one_of, two_of

    two_of({"--talkers": talkers, "--room": room, "--exceeding": exceeding})
    known = voice.PATTERNS[one_of("--pattern", pattern, voice.PATTERNS)]
    texts = {
        "talkers": talkers,
        "room": room,
        "exceeding": exceeding,
        "activity": activity or repr(known.activity),
    }

    def count(values: "Columns") -> "Columns":
        share = values["activity"]
        if exceeding is None:
            found = voice.talking(values["talkers"], activity=share, room=values["room"])
            return {
                "mean": found.mean,
                "deviation": found.deviation,
                "exceeding": found.exceeding,
                "frozen_out": found.frozen_out,
            }
        if room is None:
            return {
                "room": voice.talking_quantile(
                    values["talkers"], activity=share, exceeding=values["exceeding"]
                )
            }
        return {
            "talkers": voice.admitted(values["room"], activity=share, exceeding=values["exceeding"])
        }

    about = {} if activity is not None else {"pattern": known.name, "confidence": known.confidence}
    _show(evaluated(texts, count), about, as_json=as_json)


def erlang(
    *,
    offered: Annotated[
        str | None,
        _list_option(
            "--offered",
            f"Offered traffic in erlang, calls a second times their mean duration: {_LISTS}.",
        ),
    ] = None,
    circuits: Annotated[str | None, _list_option("--circuits", "Number of circuits.")] = None,
    blocking: Annotated[
        str | None,
        _list_option(
            "--blocking", "Probability that a call finds no free circuit, a fraction or in %."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Evaluate Erlang's B formula: give two of --offered, --circuits and --blocking."""
    from ethermeter import voice
    from ethermeter.cli.voice_values import evaluated, two_of

    two_of({"--offered": offered, "--circuits": circuits, "--blocking": blocking})

    def solve(values: "Columns") -> "Columns":
        if blocking is None:
            lost = voice.erlang_b(values["offered"], circuits=values["circuits"])
            return {"blocking": lost, "carried": values["offered"] * (1 - lost)}
        if offered is None:
            return {
                "offered": voice.erlang_b_offered(values["blocking"], circuits=values["circuits"])
            }
        return {"circuits": voice.erlang_b_circuits(values["offered"], blocking=values["blocking"])}

    _show(
        evaluated({"offered": offered, "circuits": circuits, "blocking": blocking}, solve),
        {},
        as_json=as_json,
    )


def _show(grid: "Grid", about: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json({**about, **grid.as_json()})
        return
    from ethermeter.present import voice as layout

    show(layout.grid(grid, about))


def _show_codecs(chosen: "Sequence[Codec]", *, as_json: bool) -> None:
    if not as_json:
        from ethermeter.present import voice as layout

        show(layout.codecs(chosen))
        return
    fields = (
        "name",
        "title",
        "bit_rates_bps",
        "frames_s",
        "look_ahead_s",
        "decoder_s",
        "longest_packet_s",
        "is_narrowband",
        "ie",
        "bpl",
        "rated",
        "source",
        "confidence",
    )
    print_json([{field: getattr(codec, field) for field in fields} for codec in chosen])
