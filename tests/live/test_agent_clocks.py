"""Clocks that are wrong on purpose, and what agents find out about them."""

import json
import random
import statistics
import subprocess
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ethermeter.testbed import Host, make_testbed

MS = 10**6
ROUNDS = 10
PAIRS = 5
"""Agents on each host; flows go both ways between the first of one and the first of the other, and so on."""
TRIALS = ROUNDS * PAIRS * 2
LEAST_COVERED = 95
MOST_UNCERTAIN_NS = 10_000
SEED = 1988


class Clock:
    """A clock that is ahead and gains: up to a second and a hundred millionths."""

    def __init__(self, draw: random.Random) -> None:
        self.offset_ns = draw.randint(-(10**9), 10**9)
        self.drift_ppb = draw.randint(-100_000, 100_000)

    def options(self) -> list[str]:
        """Options of the agent that shows it."""
        return ["--clock-offset", str(self.offset_ns), "--clock-drift", str(self.drift_ppb)]

    def rate(self) -> Fraction:
        """Nanoseconds that it shows in each of the host's."""
        return 1 + Fraction(self.drift_ppb, 10**9)

    def ahead_of_ns(self, other: "Clock", other_shows_ns: int) -> float:
        """How far it is ahead of another when that shows a time."""
        host_ns = (other_shows_ns - other.offset_ns) / other.rate()
        return float(host_ns * self.rate() + self.offset_ns - other_shows_ns)


def credentials(folder: Path, name: str) -> list[str]:
    """Options of the certificate of one host."""
    files = {"certificate": f"{name}.pem", "key": f"{name}.key", "authority": "authority.pem"}
    return [word for option, file in files.items() for word in (f"--{option}", str(folder / file))]


def start(program: str, host: Host, folder: Path, clock: Clock, stack: ExitStack) -> str:
    """Start an agent; return where it listens."""
    address = str(host.ipv4)
    options = [*credentials(folder, address), "--ceilings", str(folder / "ceilings.toml"), *clock.options()]
    process = stack.enter_context(
        subprocess.Popen(host.command(program, "--listen", f"{address}:0", *options), stdout=subprocess.PIPE, text=True)
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout.readline().removeprefix("listening on ").strip()


def describe(agents: dict[str, tuple[Host, str]]) -> dict[str, Any]:
    """Streams both ways between pairs of agents, of 64 octets each 2 ms."""
    traffic = {"kind": "stream", "frames": {"kind": "fixed", "bits": 512}, "arrivals": {"kind": "regular", "period_ps": 2 * 10**9}}
    ends = [end for pair in range(PAIRS) for end in ((f"a{pair}", f"b{pair}"), (f"b{pair}", f"a{pair}"))]
    common = {"port": "udp", "most_bps": 10**7, "most_frames_per_s": 10_000, "traffic": traffic}
    return {
        "seed": 1,
        "agents": [{"name": name, "control": place, "address": str(host.ipv4)} for name, (host, place) in agents.items()],
        "phases": {"settle_ns": 150 * MS, "transmit_ns": 150 * MS, "measure_from_ns": 0, "measure_to_ns": 150 * MS, "drain_ns": 150 * MS},
        "flows": [{"name": f"{sender}{receiver}", "from": sender, "to": receiver, **common} for sender, receiver in ends],
    }


@pytest.mark.timed
@pytest.mark.root
def test_offset_and_drift_of_a_senders_clock_are_found_within_their_uncertainty(agent: str, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    covered, uncertain_ns, delay_uncertain_ns = [], [], []
    with make_testbed(2) as bed:
        names = ",".join(str(host.ipv4) for host in bed.hosts)
        subprocess.run([agent, "certificates", str(tmp_path / "lab"), "--hosts", names], check=True)
        folder = tmp_path / "lab"
        (folder / "ceilings.toml").write_text('addresses = ["10.77.0.0/24"]')
        for _ in range(ROUNDS):
            with ExitStack() as stack:
                clocks = {f"{side}{pair}": Clock(draw) for pair in range(PAIRS) for side in "ab"}
                hosts = {"a": bed.hosts[0], "b": bed.hosts[1]}
                agents = {name: (hosts[name[0]], start(agent, hosts[name[0]], folder, clock, stack)) for name, clock in clocks.items()}
                file = tmp_path / "test.json"
                file.write_text(json.dumps(describe(agents)))
                command = bed.hosts[0].command(agent, "measure", str(file), *credentials(folder, "coordinator"))
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            result = json.loads(done.stdout)
            for name, clock in clocks.items():
                artificial = {"offset_ns": clock.offset_ns, "drift_ppb": clock.drift_ppb}
                assert result["agents"][name]["artificial_clock"] == artificial
            for flow in result["flows"].values():
                found, sender, receiver = flow["clock"], clocks[flow["from"]], clocks[flow["to"]]
                error_ns = found["ahead_ns"] - sender.ahead_of_ns(receiver, found["at_ns"])
                drift_error = found["drift"] - float(sender.rate() / receiver.rate() - 1)
                # Times on frames are whole nanoseconds, which is in the uncertainty; floats of seconds of them are exact to far less.
                covered.append(abs(error_ns) <= found["uncertainty_ns"] and abs(drift_error) <= found["drift_uncertainty"])
                uncertain_ns.append(found["uncertainty_ns"])
                assert "clock-uncertain" not in flow["cautions"], flow["clock"]
                measured = flow["receiving"]["counted"]["stream"]["measured"]
                # Something was known of the clock before the first frame came, so each delay is told, or known to be too short to tell.
                assert measured["unrelated"] == 0
                assert measured["delay"]["total"] + measured["before_sent"] == measured["frames"]
                assert found["delay_uncertainty_ns"] >= found["uncertainty_ns"]
                delay_uncertain_ns.append(found["delay_uncertainty_ns"])
    assert len(covered) == TRIALS
    assert sum(covered) >= LEAST_COVERED
    # Whatever else the machine does can only hold exchanges up, so that less is known: the better half is judged.
    assert statistics.median(uncertain_ns) <= MOST_UNCERTAIN_NS, sorted(uncertain_ns)
    assert statistics.median(delay_uncertain_ns) <= MOST_UNCERTAIN_NS, sorted(delay_uncertain_ns)
