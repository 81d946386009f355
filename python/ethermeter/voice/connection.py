"""Parameters of the E-model (G.107) beside delay, loss and codec, with range and default."""

from dataclasses import dataclass, fields, replace
from typing import Annotated, get_type_hints

from ethermeter.arguments import ArgumentError, Array, Numbers, Range, same_shape

SOURCE = "ITU-T G.107, Table 2, from memory; the defaults give its published R = 93.2"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A parameter of G.107."""

    symbol: str  # Its name in G.107
    unit: str  # dB, dBm0p, dBmp, dB(A), s; empty for numbers without one
    allowed: Range  # The permitted range
    meaning: str  # What it is
    # field, default: Its name here, and its value unless given, None if it follows from others;
    # both of `Connection`
    field: str = ""
    default: float | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as G.107 describes it; numbers or arrays that broadcast.

    Without arguments: the defaults of G.107.
    """

    send_loudness_db: Annotated[
        Numbers, Quantity("SLR", "dB", Range(0, 18), "send loudness rating")
    ] = 8.0
    receive_loudness_db: Annotated[
        Numbers, Quantity("RLR", "dB", Range(-5, 14), "receive loudness rating")
    ] = 2.0
    sidetone_db: Annotated[
        Numbers, Quantity("STMR", "dB", Range(10, 20), "sidetone masking rating")
    ] = 15.0
    listener_sidetone_db: Annotated[
        Numbers | None,
        Quantity("LSTR", "dB", Range(13, 23), "listener sidetone rating; STMR + Dr unless given"),
    ] = None
    send_telephone_d_db: Annotated[
        Numbers, Quantity("Ds", "dB", Range(-3, 3), "D-value of the telephone, send side")
    ] = 3.0
    receive_telephone_d_db: Annotated[
        Numbers, Quantity("Dr", "dB", Range(-3, 3), "D-value of the telephone, receive side")
    ] = 3.0
    talker_echo_db: Annotated[
        Numbers, Quantity("TELR", "dB", Range(5, 65), "talker echo loudness rating")
    ] = 65.0
    echo_path_loss_db: Annotated[
        Numbers, Quantity("WEPL", "dB", Range(5, 110), "weighted echo path loss")
    ] = 110.0
    quantising_units: Annotated[
        Numbers, Quantity("qdu", "", Range(1, 14), "quantising distortion units")
    ] = 1.0
    circuit_noise_dbm0p: Annotated[
        Numbers, Quantity("Nc", "dBm0p", Range(-80, -40), "circuit noise at the 0 dBr point")
    ] = -70.0
    noise_floor_dbmp: Annotated[
        Numbers, Quantity("Nfor", "dBmp", Range(-80, -40), "noise floor at the receive side")
    ] = -64.0
    send_room_noise_dba: Annotated[
        Numbers, Quantity("Ps", "dB(A)", Range(35, 85), "room noise at the send side")
    ] = 35.0
    receive_room_noise_dba: Annotated[
        Numbers, Quantity("Pr", "dB(A)", Range(35, 85), "room noise at the receive side")
    ] = 35.0
    delay_sensitivity: Annotated[
        Numbers, Quantity("sT", "", Range(0.4, 1), "how much delay matters to the talkers")
    ] = 1.0
    smallest_delay_s: Annotated[
        Numbers, Quantity("mT", "s", Range(0.02, 0.15), "delay from which talkers notice it")
    ] = 0.1

    def values(self, function: str) -> dict[str, Array]:
        """Return the parameters by their names in G.107, of one shape; LSTR too.

        Raises
        ------
        ArgumentError
            If one is out of its range, or their shapes do not broadcast.

        """
        given = {
            each.symbol: each.allowed.read(function, each.field, value)
            for each in QUANTITIES
            if (value := getattr(self, each.field)) is not None or each.default is not None
        }
        arrays = same_shape(function, list(given), list(given.values()))
        found = dict(zip(given, arrays, strict=True))
        if "LSTR" not in found:
            found["LSTR"] = found["STMR"] + found["Dr"]
        return found


QUANTITIES: tuple[Quantity, ...] = tuple(
    replace(
        get_type_hints(Connection, include_extras=True)[each.name].__metadata__[0],
        field=each.name,
        default=each.default,
    )
    for each in fields(Connection)
)


def connection_of(function: str, value: object) -> Connection:
    """Return a connection, or the defaults of G.107 for None.

    Raises
    ------
    ArgumentError
        If it is anything else.

    """
    if value is None:
        return Connection()
    if not isinstance(value, Connection):
        raise ArgumentError(
            function,
            "connection",
            type(value).__name__,
            f"a Connection of {', '.join(f.name for f in fields(Connection))}",
        )
    return value
