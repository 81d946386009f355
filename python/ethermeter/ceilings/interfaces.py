"""Interfaces and their buses as the system reports them: speed, rings, offloads, PCIe."""

import re
import shutil
import subprocess
from pathlib import Path

from ethermeter.ceilings.value import Facts, LeftOut, Survey, reported

NET = Path("/sys/class/net")
_LIMIT_S = 5.0
_GENERATION_SHARE = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130}
"""What the line code leaves of a lane's transfers, by GT/s (PCI Express Base Specification: 8b/10b
in 1.x and 2.x, then 128b/130b).
"""
_OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)


def look(survey: Survey, net: Path = NET) -> None:
    """Add the ceilings and facts of every interface that is a device to a survey.

    `survey`: where to add it. `net`: the directory of interfaces.
    """
    devices = sorted(path.parent for path in net.glob("*/device"))
    if not devices:
        survey.left_out.append(LeftOut("nic", "no interface of this host is a device"))
    for path in devices:
        _bus(survey, path)
        _speed(survey, path)
        survey.facts[path.name] = Facts(_driver(path), _rings(path.name), _offloads(path.name))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _driver(path: Path) -> str | None:
    link = path / "device" / "driver"
    return link.resolve().name if link.exists() else None


def _bus(survey: Survey, path: Path) -> None:
    # A virtio device is a child of the PCI function.
    device = (path / "device").resolve()
    for place in (device, device.parent):
        speed, width = _text(place / "current_link_speed"), _text(place / "current_link_width")
        found = re.match(r"([0-9.]+) GT/s", speed or "")
        if found and width and width.isdigit() and int(width) > 0:
            per_lane = float(found.group(1))
            share = _GENERATION_SHARE.get(per_lane)
            if share is None:
                why = f"unknown line code: PCIe at {per_lane:g} GT/s"
                survey.left_out.append(LeftOut(f"bus-{path.name}", why))
                return
            how = (
                f"PCIe, {width} lanes of {per_lane:g} GT/s, without the line code; "
                "its packet headers are included"
            )
            rate_bps = per_lane * 1e9 * share * int(width)
            title = f"Bus of {path.name}"
            survey.ceilings.append(reported(f"bus-{path.name}", title, rate_bps, how=how))
            return
    why = "sysfs has no PCIe speed and width (a virtual device, or another bus)"
    survey.left_out.append(LeftOut(f"bus-{path.name}", why))


def _speed(survey: Survey, path: Path) -> None:
    speed = _text(path / "speed")
    if speed and speed.lstrip("-").isdigit() and int(speed) > 0:
        how = f"/sys/class/net/{path.name}/speed: {speed} Mb/s"
        survey.ceilings.append(
            reported(f"nic-{path.name}", f"Line rate of {path.name}", int(speed) * 1e6, how=how)
        )
        return
    survey.left_out.append(
        LeftOut(f"nic-{path.name}", "the interface reports no speed (a virtual device, or no link)")
    )


def _ethtool(*words: str) -> str | None:
    tool = shutil.which("ethtool", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, *words], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def rings_of(text: str) -> dict[str, int]:
    """Read the rings in use from the output of `ethtool -g`: entries, by `rx` and `tx`."""
    _, _, current = text.partition("Current hardware settings:")
    return {
        key.lower(): int(value)
        for key, value in re.findall(r"^(RX|TX):\s+(\d+)\s*$", current, re.MULTILINE)
    }


def offloads_of(text: str) -> dict[str, bool]:
    """Read the offloads that change a host's work for a frame from the output of `ethtool -k`."""
    states = dict(re.findall(r"^([a-z0-9-]+): (on|off)\b", text, re.MULTILINE))
    return {name: states[name] == "on" for name in _OFFLOADS if name in states}


def _rings(interface: str) -> dict[str, int] | None:
    text = _ethtool("-g", interface)
    return None if text is None else rings_of(text)


def _offloads(interface: str) -> dict[str, bool] | None:
    text = _ethtool("-k", interface)
    return None if text is None else offloads_of(text)
