"""Addresses: how many a switch of a testbed learns.

The kernel has had this limit since version 6.7, the command `ip` of Debian 12 has no word for it:
so the message is written here (`linux/if_link.h`, `linux/rtnetlink.h`).
"""

import ctypes
import errno
import functools
import logging
import os
import socket
import struct
import threading
from dataclasses import dataclass

from ethermeter.testbed.commands import TestbedError
from ethermeter.testbed.record import NAMESPACES

MOST_LEARNED = 8192
"""Addresses that a switch learns.

Source
------
802.1Q leaves the size of the filtering database to the implementation. 8192 is typical of access
switches, and the size of a switch in an experiment unless its file gives another.
"""

MOST_OF_KERNEL = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class AddressTable:
    """What a switch may learn: how long an address is known after its last frame, how many are."""

    age_s: float = 300.0
    addresses: int = MOST_LEARNED


_CLONE_NEWNET = 0x4000_0000
_NLMSG_ERROR, _RTM_NEWLINK = 2, 16
_NLM_F_REQUEST, _NLM_F_ACK = 1, 4
_IFLA_IFNAME, _IFLA_LINKINFO = 3, 18
_IFLA_INFO_KIND, _IFLA_INFO_DATA = 1, 2
_IFLA_BR_FDB_MAX_LEARNED = 49
_SINCE = (6, 7)
_LIMIT_S = 5.0


def limit_learning(namespace: str, bridge: str, most: int = MOST_LEARNED) -> None:
    """Limit how many addresses a bridge learns; frames to others are flooded.

    On an older kernel nothing is limited, and a warning says so once. Raises TestbedError if the
    kernel refuses.
    """
    if not _can_limit():
        return
    limit = struct.pack("=I", min(most, MOST_OF_KERNEL))
    data = _attribute(_IFLA_BR_FDB_MAX_LEARNED, limit)
    about = _attribute(_IFLA_INFO_KIND, b"bridge\0") + _attribute(_IFLA_INFO_DATA, data)
    body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    body += _attribute(_IFLA_IFNAME, bridge.encode() + b"\0")
    body += _attribute(_IFLA_LINKINFO, about)
    head = struct.pack("=IHHII", 16 + len(body), _RTM_NEWLINK, _NLM_F_REQUEST | _NLM_F_ACK, 1, 0)
    try:
        with _routing_socket(namespace) as kernel:
            kernel.settimeout(_LIMIT_S)
            kernel.send(head + body)
            answer = kernel.recv(1 << 16)
    except OSError as error:
        raise TestbedError(f"{namespace}: {bridge}: {error.strerror or error}") from error
    # Header of the answer (length, kind, flags, number, port), then a negative error, or 0.
    _, kind, _, _, _, status = struct.unpack("=IHHIIi", answer[:20])
    if kind != _NLMSG_ERROR or status:
        failure = -status if kind == _NLMSG_ERROR else errno.EPROTO
        why = f"limit of {most} learned addresses: {os.strerror(failure)}"
        raise TestbedError(f"{namespace}: {bridge}: {why}")


@functools.cache
def _can_limit() -> bool:
    """Whether this kernel can; if not, say so."""
    release = os.uname().release
    version = tuple(int(part) for part in release.split("-")[0].split(".")[:2] if part.isdecimal())
    if version >= _SINCE:
        return True
    logging.getLogger(__name__).warning(
        "switches of testbeds learn any number of addresses: Linux %s has no limit, 6.7 has",
        release,
    )
    return False


def _attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute of a message: length, kind, value, to a multiple of four octets."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _routing_socket(namespace: str) -> socket.socket:
    """Open a socket for messages about interfaces of a namespace."""
    found: list[socket.socket | OSError] = []

    def opened() -> None:
        # A namespace is entered by a thread, which ends with this function.
        try:
            handle = os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET):
                    failure = ctypes.get_errno() or errno.EINVAL
                    raise OSError(failure, os.strerror(failure))
            finally:
                os.close(handle)
            found.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE))
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=opened)
    thread.start()
    thread.join()
    (one,) = found
    if isinstance(one, OSError):
        raise one
    return one
