"""Transfers as the engines read them."""

from typing import Any

from ethermeter.experiment import traffic
from ethermeter.experiment.transfers import Transfer


def transfer_plan(transfer: Transfer) -> dict[str, Any]:
    """Return a transfer as a plan has it."""
    tcp = transfer.tcp
    ends = {
        "window_octets": tcp.window,
        "send_buffer_octets": tcp.send_buffer,
        "mtu_octets": tcp.mtu,
        "option_octets": tcp.options,
        "initial_segments": tcp.initial_segments,
        "recovery": tcp.recovery.replace("-", "_"),
        "nagle": tcp.nagle,
        "acknowledge": tcp.acknowledge and {"segments": tcp.acknowledge.segments, "ps": tcp.acknowledge.time},
        "least_timeout_ps": tcp.least_timeout,
        "first_timeout_ps": tcp.first_timeout,
        "read_ps_per_octet": tcp.read_per_byte,
    }
    return {"job": _job(transfer), "tcp": {key: value for key, value in ends.items() if value is not None}}


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
