"""Frame mixes: octets and weights of the frames of a point, as the keys of its series have them."""

import re

COUNT, FRAMES = "stations.count", "stations.frames"
Lengths = tuple[tuple[float, float], ...]


def lengths(text: str) -> Lengths:
    """Octets and weights of a text such as "64 B x 7 + 1536 B x 1", shortest first.

    Examples
    --------
    >>> lengths("1536 B x 1 + 64 B x 7")
    ((64.0, 7.0), (1536.0, 1.0))
    >>> lengths("64 B")
    ((64.0, 1.0),)
    """
    parts = [
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*B(?:\s*[x*]\s*(\d+(?:\.\d+)?))?\s*", part)
        for part in text.split("+")
    ]
    if not all(parts):
        raise ValueError(f"frames {text!r} are not of the form '64 B' or '64 B x 7 + 1536 B x 1'")
    found = sorted((float(part[1]), float(part[2] or 1)) for part in parts if part)
    used = [(octets, weight) for octets, weight in found if weight > 0]
    return ((used[0][0], 1.0),) if len(used) == 1 else tuple(used)
