"""Parameters of the E-model (G.107) beside delay, loss and codec, with range and default."""

from dataclasses import dataclass, fields

from ethermeter.arguments import ArgumentError, Array, Numbers, Range, same_shape

SOURCE = "ITU-T G.107, Table 2, from memory; the defaults give its published R = 93.2"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A parameter of G.107.

    Parameters
    ----------
    field
        Its name here.
    symbol
        Its name in G.107.
    unit
        dB, dBm0p, dBmp, dB(A), s; empty for numbers without one.
    allowed
        The permitted range.
    default
        Default value; None if it follows from others.
    meaning
        What it is.

    """

    field: str
    symbol: str
    unit: str
    allowed: Range
    default: float | None
    meaning: str


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("send_loudness_db", "SLR", "dB", Range(0, 18), 8.0, "send loudness rating"),
    Quantity("receive_loudness_db", "RLR", "dB", Range(-5, 14), 2.0, "receive loudness rating"),
    Quantity("sidetone_db", "STMR", "dB", Range(10, 20), 15.0, "sidetone masking rating"),
    Quantity(
        "listener_sidetone_db",
        "LSTR",
        "dB",
        Range(13, 23),
        None,
        "listener sidetone rating; STMR + Dr unless given",
    ),
    Quantity(
        "send_telephone_d_db", "Ds", "dB", Range(-3, 3), 3.0, "D-value of the telephone, send side"
    ),
    Quantity(
        "receive_telephone_d_db",
        "Dr",
        "dB",
        Range(-3, 3),
        3.0,
        "D-value of the telephone, receive side",
    ),
    Quantity("talker_echo_db", "TELR", "dB", Range(5, 65), 65.0, "talker echo loudness rating"),
    Quantity("echo_path_loss_db", "WEPL", "dB", Range(5, 110), 110.0, "weighted echo path loss"),
    Quantity("quantising_units", "qdu", "", Range(1, 14), 1.0, "quantising distortion units"),
    Quantity(
        "circuit_noise_dbm0p",
        "Nc",
        "dBm0p",
        Range(-80, -40),
        -70.0,
        "circuit noise at the 0 dBr point",
    ),
    Quantity(
        "noise_floor_dbmp",
        "Nfor",
        "dBmp",
        Range(-80, -40),
        -64.0,
        "noise floor at the receive side",
    ),
    Quantity(
        "send_room_noise_dba", "Ps", "dB(A)", Range(35, 85), 35.0, "room noise at the send side"
    ),
    Quantity(
        "receive_room_noise_dba",
        "Pr",
        "dB(A)",
        Range(35, 85),
        35.0,
        "room noise at the receive side",
    ),
    Quantity(
        "delay_sensitivity", "sT", "", Range(0.4, 1), 1.0, "how much delay matters to the talkers"
    ),
    Quantity(
        "smallest_delay_s", "mT", "s", Range(0.02, 0.15), 0.1, "delay from which talkers notice it"
    ),
)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as G.107 describes it; numbers or arrays that broadcast.

    Without arguments: the defaults of G.107.

    Parameters
    ----------
    send_loudness_db, receive_loudness_db
        SLR [dB], from 0 to 18, and RLR [dB], from -5 to 14.
    sidetone_db, listener_sidetone_db
        STMR [dB], from 10 to 20, and LSTR [dB], from 13 to 23; LSTR is STMR + Dr unless given.
    send_telephone_d_db, receive_telephone_d_db
        Ds and Dr [dB], from -3 to 3.
    talker_echo_db, echo_path_loss_db
        TELR [dB], from 5 to 65, and WEPL [dB], from 5 to 110.
    quantising_units
        qdu, from 1 to 14.
    circuit_noise_dbm0p, noise_floor_dbmp
        Nc [dBm0p] and Nfor [dBmp], from -80 to -40.
    send_room_noise_dba, receive_room_noise_dba
        Ps and Pr [dB(A)], from 35 to 85.
    delay_sensitivity, smallest_delay_s
        sT, from 0.4 to 1, and mT [s], from 0.02 to 0.15.

    """

    send_loudness_db: Numbers = 8.0
    receive_loudness_db: Numbers = 2.0
    sidetone_db: Numbers = 15.0
    listener_sidetone_db: Numbers | None = None
    send_telephone_d_db: Numbers = 3.0
    receive_telephone_d_db: Numbers = 3.0
    talker_echo_db: Numbers = 65.0
    echo_path_loss_db: Numbers = 110.0
    quantising_units: Numbers = 1.0
    circuit_noise_dbm0p: Numbers = -70.0
    noise_floor_dbmp: Numbers = -64.0
    send_room_noise_dba: Numbers = 35.0
    receive_room_noise_dba: Numbers = 35.0
    delay_sensitivity: Numbers = 1.0
    smallest_delay_s: Numbers = 0.1

    def values(self, function: str) -> dict[str, Array]:
        """Return the parameters by their names in G.107, of one shape; LSTR too.

        Raises
        ------
        ArgumentError
            If one is out of its range, or their shapes do not broadcast.

        """
        given = {quantity.symbol: getattr(self, quantity.field) for quantity in QUANTITIES}
        if given["LSTR"] is None:
            del given["LSTR"]
        checked = [
            q.allowed.read(function, q.field, given[q.symbol])
            for q in QUANTITIES
            if q.symbol in given
        ]
        found = dict(zip(given, same_shape(function, list(given), checked), strict=True))
        if "LSTR" not in found:
            found["LSTR"] = found["STMR"] + found["Dr"]
        return found


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
