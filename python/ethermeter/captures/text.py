"""Sizes, times and rates as text."""


def size_text(octets: float) -> str:
    """Write a size with a decimal prefix.

    Examples
    --------
    >>> size_text(999), size_text(65535), size_text(3_000_000)
    ('999 B', '65.5 kB', '3 MB')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if octets >= factor:
            return f"{octets / factor:.3g} {prefix}B"
    return f"{octets:.0f} B"


def time_text(seconds: float | None) -> str:
    """Write a time in its unit; a dash for none.

    Examples
    --------
    >>> time_text(0.0000123), time_text(0.25), time_text(None)
    ('12.3 µs', '250 ms', '–')
    """
    if seconds is None:
        return "–"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def rate_text(bps: float) -> str:
    """Write a rate with a decimal prefix.

    Examples
    --------
    >>> rate_text(47_000_000), rate_text(9_412_345)
    ('47 Mb/s', '9.41 Mb/s')
    """
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if bps >= factor:
            return f"{bps / factor:.3g} {prefix}b/s"
    return f"{bps:.3g} b/s"
