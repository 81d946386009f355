"""Services of ITU-T Y.1564: what is sold, and what it must keep."""

import re
from dataclasses import dataclass

from ethermeter import units
from ethermeter.faults import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}", re.ASCII)
KEYS = ("cir", "eir", "frame", "ftd", "fdv", "flr", "avail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service with its acceptance criteria.

    Parameters
    ----------
    name
        Its name.
    cir_bps, eir_bps
        Committed and excess information rate, in bit/s of frames from destination address to FCS.
    octets
        Length of its frames.
    delay_s, variation_s
        Largest frame transfer delay and frame delay variation, in s; None if not agreed.
    loss
        Largest frame loss ratio.
    availability
        Least share of available seconds.

    """

    name: str
    cir_bps: float
    eir_bps: float = 0.0
    octets: int = 512
    delay_s: float | None = None
    variation_s: float | None = None
    loss: float = 0.0
    availability: float = 1.0

    def load(self, rate_bps: float) -> float:
        """Return the frames/s of an information rate."""
        return rate_bps / (8 * self.octets)


def service_of(text: str) -> Service:
    """Read a service of the command line: "voice: cir=2 Mb/s, frame=200 B, flr=0.1%".

    Raises
    ------
    InputError
        With what is wrong.

    """

    def wrong(key: str, value: str, allowed: str) -> InputError:
        return InputError.of_argument(f"services {key}".rstrip(), value, allowed)

    name, colon, rest = text.partition(":")
    name = name.strip()
    if not colon or not _NAME.fullmatch(name):
        raise wrong(
            "",
            text,
            'expected "NAME: cir=RATE, …", the name a letter, then letters, digits, - or _',
        )
    found: dict[str, str] = {}
    for part in rest.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in KEYS or key in found or not value:
            raise wrong(
                name, part.strip(), f"expected KEY=VALUE, each once; keys: {', '.join(KEYS)}"
            )
        found[key] = value
    if "cir" not in found:
        raise wrong(name, text, "required: cir, the committed information rate")

    def share(key: str) -> float:
        try:
            value = float(found[key].removesuffix("%")) / 100
        except ValueError:
            value = -1.0
        if not found[key].endswith("%") or not 0 <= value <= 1:
            raise wrong(f"{name} {key}", found[key], 'expected a share such as "0.1%"')
        return value

    try:
        octets = units.size_bits(found.get("frame", "512 B"), positive=True) // 8
        service = Service(
            name=name,
            cir_bps=float(units.rate_bps(found["cir"])),
            eir_bps=float(units.rate_bps(found["eir"])) if found.get("eir", "0") != "0" else 0.0,
            octets=octets,
            delay_s=units.time_ps(found["ftd"]) / 1e12 if "ftd" in found else None,
            variation_s=units.time_ps(found["fdv"]) / 1e12 if "fdv" in found else None,
            loss=share("flr") if "flr" in found else 0.0,
            availability=share("avail") if "avail" in found else 1.0,
        )
    except units.UnitError as error:
        raise wrong(name, rest.strip(), str(error)) from None
    if not 64 <= octets <= 9018:
        raise wrong(f"{name} frame", found["frame"], "expected 64 B to 9018 B")
    if service.cir_bps <= 0:
        raise wrong(f"{name} cir", found["cir"], "expected a rate above 0")
    return service
