"""The switched simulator beside ns-3's bridge: saturated hosts on one learning switch, 1 Gb/s.

Each host sends to the next.
"""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benches.children import ChildError
from benches.peers import NotInstalledError, ns3_program, ns3_version, run_long_enough
from benches.scenario import BITS_PER_OCTET, PS_PER_S, PS_PER_US, phases
from benches.speed import Effort, time_runs

HOSTS = (8, 24)
FRAME_OCTETS = (64, 1518)
PS_PER_OCTET = 8000
BETWEEN_FRAMES_OCTETS = 20
"""Gap and preamble."""
FIRST_DELAY_NS = 100
QUEUE_FRAMES = 1000
RUNS = 3
FIRST_FRAMES = 1000
"""Frames that each host sends in the first, shortest run of the peer."""
PEER = "ns-3 bridge"
LIBRARIES = ("-lns3-bridge", "-lns3-csma", "-lns3-network", "-lns3-core")
NOTE = (
    "BridgeNetDevice, two CsmaChannels for each cable, one for each direction, so full duplex; no"
    " preamble, its time is in the gap; PriorityQueueScheduler"
)


def trial_switched(*, hosts: int, frame_octets: int, simulated_us: int) -> str:
    """Return the trial: saturated hosts at a learning switch, each of which sends to the next.

    Parameters
    ----------
    hosts
        How many, at least 2.
    frame_octets
        Length of every frame, destination address to FCS.
    simulated_us
        Time to simulate, in us; all of it is measured.

    Returns
    -------
    :
        The trial as JSON (docs/reference/network-trials.md).

    """
    if hosts < 2:
        raise ValueError(f"hosts must be at least 2, got {hosts}")
    names = [f"h{host}" for host in range(hosts)]
    learning = {"learns": {"age_ps": 300 * PS_PER_S, "addresses": 8192}}
    return json.dumps(
        {
            "id": "bench/00000",
            "seed": 1988,
            "scenario": {
                "nodes": [
                    *({"name": name, "kind": {"host": {}}} for name in names),
                    {
                        "name": "switch",
                        "kind": {"switch": {"learning": learning, "queue_frames": QUEUE_FRAMES}},
                    },
                ],
                "links": [
                    {
                        "ends": [{"node": name}, {"node": "switch"}],
                        "ps_per_octet": PS_PER_OCTET,
                        "delay_ps": (FIRST_DELAY_NS + host) * 1000,
                    }
                    for host, name in enumerate(names)
                ],
                "flows": [
                    {
                        "name": name,
                        "from": name,
                        "to": [names[(host + 1) % hosts]],
                        "frames": {"kind": "fixed", "bits": frame_octets * BITS_PER_OCTET},
                        "arrivals": {"kind": "saturated"},
                    }
                    for host, name in enumerate(names)
                ],
                "phases": phases(simulated_us * PS_PER_US),
            },
        }
    )


def time_of_frames(frames: int, *, frame_octets: int) -> int:
    """Return the time in which a host sends so many frames, in us, rounded up."""
    return -(-frames * (frame_octets + BETWEEN_FRAMES_OCTETS) * PS_PER_OCTET // PS_PER_US)


def offered_frames(*, hosts: int, frame_octets: int, simulated_us: int) -> int:
    """Return the frames that full links carry from all hosts, with preamble and gap."""
    return hosts * (
        simulated_us * PS_PER_US // ((frame_octets + BETWEEN_FRAMES_OCTETS) * PS_PER_OCTET)
    )


def doubt(frames: int, *, hosts: int, frame_octets: int, simulated_us: int) -> str | None:
    """Compare delivered with offered frames.

    Until the switch has heard a host, frames for it go to all others, too. As all links are full,
    these copies are before frames that are meant for ever: at most one from each host but the
    port's own and the one that sends to it. Two more frames of each host may be on their two links,
    and one may be offered in part.

    Parameters
    ----------
    frames
        Delivered to the hosts they were for.
    hosts, frame_octets, simulated_us
        The trial.

    Returns
    -------
    :
        What is wrong, or None.

    """
    offered = offered_frames(hosts=hosts, frame_octets=frame_octets, simulated_us=simulated_us)
    if -hosts <= offered - frames <= hosts * (hosts - 2 + 2 + 1):
        return None
    return f"delivered {frames} frames of {offered} offered in {simulated_us} us"


def measure_switched(
    effort: Effort, *, peers: bool, follow: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Time ourselves and ns-3's bridge, in turn, on the same trials.

    Parameters
    ----------
    effort
        How long to measure.
    peers
        Run ns-3 too.
    follow
        Told what is measured next.

    Returns
    -------
    :
        A row a trial; `ratio` is our frames per CPU-second over the peer's. Without ns-3, `status`
        says why and its numbers are None.

    Raises
    ------
    RuntimeError
        If we do not deliver what was offered: then our speed says nothing.

    """
    from ethermeter._core import simulate_trial

    # The first trial of a process pays for pages and caches that all others find warm.
    simulate_trial(trial_switched(hosts=HOSTS[0], frame_octets=FRAME_OCTETS[0], simulated_us=1000))
    rows = []
    with ExitStack() as ready:
        program: str | None = None
        status = "not asked for"
        if peers:
            follow(f"switched: looking for {PEER}")
            try:
                program = ready.enter_context(ns3_program("switch", "bridge", libraries=LIBRARIES))
            except NotInstalledError as error:
                status = f"not installed: {error}"
            except ChildError as error:
                status = f"failed: {error}"
        for hosts in HOSTS:
            for frame_octets in FRAME_OCTETS:
                follow(f"switched: {hosts} hosts, {frame_octets} B")
                row = _time_ours(effort, hosts=hosts, frame_octets=frame_octets)
                row["status"] = status
                if program is not None:
                    row["version"], row["note"] = ns3_version(), NOTE
                    try:
                        row.update(
                            _time_peer(program, effort, hosts=hosts, frame_octets=frame_octets)
                        )
                        row["ratio"] = row["ours_frames_per_cpu_s"] / row["frames_per_cpu_s"]
                    except ChildError as error:
                        row["status"] = f"failed: {error}"
                rows.append(row)
    return rows


def _time_ours(effort: Effort, *, hosts: int, frame_octets: int) -> dict[str, Any]:
    simulated_us = time_of_frames(effort.switched_frames // hosts, frame_octets=frame_octets)
    trial = trial_switched(hosts=hosts, frame_octets=frame_octets, simulated_us=simulated_us)
    rates, found = time_runs(
        trial, delivered=lambda found: found.flows.messages, runs=min(effort.runs, RUNS)
    )
    frames = int(found.flows.messages.sum())
    wrong = doubt(frames, hosts=hosts, frame_octets=frame_octets, simulated_us=simulated_us)
    if wrong is not None:
        raise RuntimeError(f"ethermeter, {hosts} hosts: {wrong}")
    numbers = (
        "version",
        "note",
        "simulated_s",
        "frames",
        "cpu_s",
        "frames_per_cpu_s",
        "frames_per_simulated_s",
        "delivered_share",
        "ratio",
    )
    return {
        "peer": PEER,
        "hosts": hosts,
        "frame_octets": frame_octets,
        **dict.fromkeys(numbers),
        "ours_frames_per_cpu_s": max(rates),
        "ours_frames_per_simulated_s": frames / (simulated_us * PS_PER_US / PS_PER_S),
        "ours_delivered_share": frames
        / offered_frames(hosts=hosts, frame_octets=frame_octets, simulated_us=simulated_us),
    }


def _time_peer(program: str, effort: Effort, *, hosts: int, frame_octets: int) -> dict[str, Any]:
    def command(simulated_us: int) -> list[str]:
        return [program, str(hosts), str(frame_octets), str(simulated_us), "duplex"]

    first_us = time_of_frames(FIRST_FRAMES, frame_octets=frame_octets)
    run = run_long_enough(
        PEER,
        command,
        first=first_us,
        unit="us",
        wanted_s=effort.peers_cpu_s,
        runs=min(effort.runs, RUNS),
    )
    wrong = doubt(run.frames, hosts=hosts, frame_octets=frame_octets, simulated_us=run.simulated)
    if wrong is None and re.search(r"^dropped 0$", run.out, re.MULTILINE) is None:
        wrong = "frames were dropped"
    if wrong is not None:
        raise ChildError(f"{PEER}: {wrong}")
    simulated_s = run.simulated * PS_PER_US / PS_PER_S
    return {
        "status": "measured",
        "simulated_s": simulated_s,
        "frames": run.frames,
        "cpu_s": run.cpu_s,
        "frames_per_cpu_s": run.frames / run.cpu_s,
        "frames_per_simulated_s": run.frames / simulated_s,
        "delivered_share": run.frames
        / offered_frames(hosts=hosts, frame_octets=frame_octets, simulated_us=run.simulated),
    }
