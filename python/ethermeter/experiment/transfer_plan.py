"""Transfers as the engines read them."""

from typing import Any

from ethermeter.experiment import traffic
from ethermeter.experiment.transfers import Transfer

_AS_THEY_ARE = (
    "initial_segments",
    "congestion",
    "hystart",
    "byte_counting",
    "sack",
    "prr",
    "limited_transmit",
)
"""Keys of `tcp` that a plan has as they are."""


def transfer_plan(transfer: Transfer) -> dict[str, Any]:
    """Return a transfer as a plan has it."""
    tcp = transfer.tcp
    acknowledge = tcp.setting("acknowledge")
    ends = {
        "window_octets": tcp.window,
        "send_buffer_octets": tcp.send_buffer,
        "mtu_octets": tcp.mtu,
        "option_octets": tcp.options,
        **{key: tcp.setting(key) for key in _AS_THEY_ARE},
        "recovery": tcp.setting("recovery").replace("-", "_"),
        "nagle": tcp.nagle,
        "acknowledge": {
            "segments": acknowledge.segments,
            "ps": acknowledge.time,
            "quick": acknowledge.quick,
        },
        "least_timeout_ps": tcp.setting("least_timeout"),
        "timeout_margin_ps": tcp.setting("timeout_margin"),
        "first_timeout_ps": tcp.first_timeout,
        "read_ps_per_octet": tcp.read_per_byte,
    }
    return {
        "job": _job(transfer),
        "tcp": {key: value for key, value in ends.items() if value is not None},
    }


def _job(transfer: Transfer) -> dict[str, Any]:
    if transfer.file is None:
        size = transfer.stream.size if transfer.stream is not None else None
        return {"stream": {} if size is None else {"octets": size}}
    copy = transfer.file
    return {
        "file": {
            "direction": copy.direction,
            **({} if copy.size is None else {"octets": copy.size}),
            "block_octets": copy.block,
            "request_octets": copy.request,
            "answer_octets": copy.answer,
            "client": traffic.times_plan(copy.client),
            "server": traffic.times_plan(copy.server),
            "ahead": copy.ahead,
        }
    }
