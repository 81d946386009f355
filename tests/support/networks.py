"""Texts of small networks, for tests whose subject is the flows in them."""

from collections.abc import Sequence


def network(
    rest: str,
    *,
    title: str,
    hosts: Sequence[str] = ("a", "b"),
    switch: str | None = None,
    rate: str = "10 Mb/s",
) -> str:
    """Text of an experiment file: two hosts on a link, or hosts around a switch `s`.

    Parameters
    ----------
    rest
        Text from the first flow on.
    title
        Title of the experiment.
    hosts
        Their names; "sender x 3" is a group of three.
    switch
        Keys of the switch besides its name, such as "queue = 100"; None for a link.
    rate
        Rate of all links.

    """
    names = [host.partition(" x ")[0] for host in hosts]
    lines = [f'title = "{title}"', "[network]", f'rate = "{rate}"']
    for host in hosts:
        name, _, count = host.partition(" x ")
        lines += ["[[network.hosts]]", f'name = "{name}"', *([f"count = {count}"] if count else [])]
    if switch is not None:
        lines += ["[[network.switches]]", 'name = "s"', *filter(None, [switch])]
    for one, other in [names] if switch is None else [(name, "s") for name in names]:
        lines += ["[[network.links]]", f'ends = ["{one}", "{other}"]']
    return "\n".join([*lines, rest])


BEHIND = """\
title = "A wire of 10 Mb/s behind one of 20 Mb/s"
[network]
rate = "20 Mb/s"
[[network.hosts]]
name = "sender"
[[network.hosts]]
name = "sink"
[[network.switches]]
name = "device"
queue = QUEUE
[[network.links]]
ends = ["sender", "device"]
[[network.links]]
ends = ["device", "sink"]
rate = "10 Mb/s"
"""


def behind(queue: int) -> str:
    """Text of a network of a sender and a sink; frames wait where the wire becomes slower."""
    return BEHIND.replace("QUEUE", str(queue))
