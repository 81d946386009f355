"""What is said of every packet and every connection, held against Wireshark and tcptrace on the
same captures.

Every packet's finding is equal to Wireshark's (4.0), but where one of these rules says otherwise:

- *a sample that may be of either*: Wireshark gives the time to an acknowledgement for segments that
  were sent again too, since the first of them. It is told here as well, marked as ambiguous, and
  stays out of every distribution (Karn and Partridge 1987).
- *what had been acknowledged*: a segment that is sent again after its acknowledgement is not under
  way; Wireshark waits for it again, and takes the next acknowledgement with its number for its.
- *sent again or late*: Wireshark tells by time only. What was captured before was sent again, and
  timestamps (RFC 7323) tell of what was not.
- *duplicate acknowledgements* need something under way (RFC 5681, section 2); Wireshark counts
  every repetition.
"""

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import captures
import pytest
from captures import Segment
from ethermeter.captures import Limit, Vantage, explain

pytestmark = pytest.mark.root
TOLERATED_STALL_S = 0.1
"""Some per cent of what a capture takes."""
FIELDS = (
    "ack_rtt",
    "initial_rtt",
    "retransmission",
    "out_of_order",
    "duplicate_ack",
    "zero_window",
    "keep_alive",
    "lost_segment",
)
FIELDS += ("spurious_retransmission", "acks_frame", "zero_window_probe")
NAMES = {
    "out_of_order": "late",
    "duplicate_ack": "duplicate",
    "zero_window": "zero",
    "keep_alive": "keep-alive",
    "lost_segment": "hole",
    "spurious_retransmission": "needless",
    "retransmission": "resent",
    "zero_window_probe": "probe",
}


@pytest.fixture(scope="module", params=captures.TRANSFERS)
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captures.capture(
        captures.TRANSFERS[request.param], tmp_path_factory.mktemp("captures") / "x.pcap"
    )


def _wireshark(path: Path) -> dict[int, dict[str, str]]:
    names = [f"tcp.analysis.{field}" for field in FIELDS]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-e", "frame.number"]
    command += [word for name in names for word in ("-e", name)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return {int(row[0]): dict(zip(FIELDS, row[1:], strict=True)) for row in rows}


def _ours(explainer: str, path: Path) -> dict[int, dict[str, str]]:
    text = subprocess.run(
        [explainer, "--packets", str(path)], check=True, capture_output=True, text=True
    ).stdout
    return {
        int(words[0]): {
            name: value for name, _, value in (word.partition("=") for word in words[3:])
        }
        for words in (line.split() for line in text.splitlines())
    }


def _ns(seconds: str) -> int:
    return round(float(seconds) * 1e9)


def _differences(path: Path, explainer: str) -> list[tuple[int, str]]:
    """Return packets with what is not equal; empty if every finding is."""
    theirs, ours = _wireshark(path), _ours(explainer, path)
    assert theirs.keys() == ours.keys()
    found = []
    for number, said in theirs.items():
        here = ours[number]
        found += [
            (number, name) for field, name in NAMES.items() if bool(said[field]) != (name in here)
        ]
        # To the nanosecond, which is finer than the times of the capture.
        if (_ns(said["ack_rtt"]) if said["ack_rtt"] else None) != (
            int(here["after"]) if "after" in here else None
        ):
            found.append((number, "after"))
    handshakes = {_ns(said["initial_rtt"]) for said in theirs.values() if said["initial_rtt"]}
    assert handshakes == {int(here["handshake"]) for here in ours.values() if "handshake" in here}
    return found


def test_every_packet_is_found_to_be_what_wireshark_says_of_it(captured, explainer):
    theirs, ours = _wireshark(captured), _ours(explainer, captured)
    left = []
    for number, name in _differences(captured, explainer):
        said, here = theirs[number], ours[number]
        acknowledged = ours.get(int(said["acks_frame"] or 0), {})
        # The rules above, one by one.
        is_explained = {
            "after": "after" not in here and "needless" in acknowledged,
            "resent": here.get("resent") in {"seen", "timestamp"}
            or here.get("late") == "timestamp",
            "late": here.get("resent") in {"seen", "timestamp"} or here.get("late") == "timestamp",
            "duplicate": "repeated" in here,
        }
        if not is_explained.get(name, False):
            left.append((number, name, said, here))
    assert left == []


def test_the_captures_hold_what_they_are_made_for(explainer, captured, request):
    kind = request.node.callspec.params["captured"]
    ours = list(_ours(explainer, captured).values())
    counts = {
        name: sum(name in here for here in ours)
        for name in ("after", "resent", "duplicate", "zero", "hole", "ambiguous")
    }
    assert counts["after"] > 30
    if kind.startswith("lossy"):
        assert counts["resent"] > 20
        assert counts["duplicate"] > 50
        # What the switch drops was seen by the sender, and never by the receiver.
        assert (counts["hole"] > 0) == kind.endswith("receiver")


def test_what_each_transfer_was_made_to_wait_for_is_what_limits_it(new_path, in_quiet_window):
    # What a transfer waits for is a matter of time: a host that stands still is what limits it
    # then.
    for kind, transfer in captures.TRANSFERS.items():
        captured = in_quiet_window(
            lambda transfer=transfer: captures.capture(transfer, new_path() / "x.pcap"),
            tolerated_stall_s=TOLERATED_STALL_S,
        )
        (connection,) = explain(captured).connections
        parts = connection.parts
        expected = {
            "bulk": Limit.SENDER_PACE,  # its own interface is the bottleneck
            "interactive": Limit.TURN_AROUND,
            # Its queue and its losses take about as long: the link is named for the one, the window
            # that losses keep small for the other.
            "lossy": Limit.NETWORK if parts["queue"] >= parts["loss"] else Limit.CONGESTION_WINDOW,
            # A queue between the sender and the capture point looks like the sender's pace, unless
            # the capture is known to be at its other end.
            "lossy, at the receiver": Limit.NETWORK
            if connection.vantage is Vantage.RECEIVER
            else Limit.SENDER_PACE,
            "queued": Limit.NETWORK,
            "closed windows": Limit.RECEIVER_APPLICATION,
        }
        assert connection.limit == expected[kind], (kind, parts)
        assert kind != "lossy" or parts["queue"] + parts["loss"] > 0.5, parts


def _sums(path: Path) -> dict[str, str]:
    """Return tcptrace's numbers of the only connection, by name."""
    text = subprocess.run(
        ["tcptrace", "-l", "-r", "-n", "--csv", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    head, row = csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True)
    return {name.strip(): value.strip() for name, value in zip(head, row, strict=True)}


def test_every_connections_sums_are_tcptraces(captured, explainer):
    theirs = _sums(captured)
    text = subprocess.run(
        [explainer, str(captured)], check=True, capture_output=True, text=True
    ).stdout
    (connection,) = json.loads(text)["connections"]
    for end, side in zip(connection["ends"], ("a2b", "b2a"), strict=True):

        def of(name: str, side: str = side) -> int:
            return int(theirs[f"{name}_{side}"])

        fins_sent = int(theirs[f"SYN/FIN_pkts_sent_{side}"].split("/")[1])
        # It counts what was captured before as sent again, and calls what was not out of order,
        # whatever it is.
        ours: dict[str, Any] = {
            "total_packets": end["segments"],
            "actual_data_pkts": end["data_segments"],
            "actual_data_bytes": end["octets"],
            "pure_acks_sent": end["bare_acks"],
            "mss_requested": end["wanted_segment"],
            "zero_win_adv": end["zero_windows"],
            "max_segm_size": end["largest_payload"],
        }
        assert ours == {name: of(name) for name in ours}
        assert end["resent"] + end["late"] == of("rexmt_data_pkts") + of("outoforder_pkts")
        # Without SYN and FIN. What it thinks was sent once was.
        assert (
            end["numbers"] - 2 == of("unique_bytes_sent")
            if side == "a2b"
            else end["octets"] == of("unique_bytes_sent")
        )
        if of("outoforder_pkts") == 0:
            # It counts the number that a FIN takes as an octet.
            assert (
                end["resent_octets"]
                <= of("rexmt_data_bytes")
                <= end["resent_octets"] + max(fins_sent - 1, 0)
            )
            assert end["round_trip"]["count"] == of("RTT_samples")
    assert connection["handshake_ns"] > 0


def test_what_wireshark_tells_otherwise_is_what_the_rules_say(tmp_path, explainer):
    """Each rule has a capture where the two differ, so that none is a loophole."""
    start = captures.opened()

    def found(*after: Segment) -> set[tuple[int, str]]:
        path = tmp_path / "x.pcap"
        path.write_bytes(captures.segments([*start, *after]))
        return set(_differences(path, explainer))

    stamped = [Segment(1000, 0, 1, 1, 100, stamp=7), Segment(1010, 0, 201, 1, 100, stamp=9)]
    assert found() == set()
    # Sent again though acknowledged, and acknowledged once more.
    first = [Segment(1000, 0, 1, 1, 100), Segment(1100, 1, 1, 101), Segment(9000, 0, 1, 1, 100)]
    assert found(*first, Segment(9100, 1, 1, 101)) == {(7, "after"), (7, "duplicate")}
    # Captured before, and sent again soon.
    assert found(
        Segment(1000, 0, 1, 1, 100), Segment(1010, 0, 101, 1, 100), Segment(1020, 0, 1, 1, 100)
    ) == {(6, "late"), (6, "resent")}
    # Fills a hole soon, with a later timestamp; fills it late, with an earlier one.
    assert found(*stamped, Segment(1020, 0, 101, 1, 100, stamp=10)) == {(6, "late"), (6, "resent")}
    assert found(*stamped, Segment(90_000, 0, 101, 1, 100, stamp=8)) == {(6, "late"), (6, "resent")}
    # Repeated without anything under way.
    assert found(Segment(1000, 1, 1, 1), Segment(2000, 1, 1, 1)) == {(5, "duplicate")}
    # A sample of a segment that was sent twice is told by both, and marked here.
    twice = [
        Segment(1000, 0, 1, 1, 100),
        Segment(300_000, 0, 1, 1, 100),
        Segment(301_000, 1, 1, 101),
    ]
    assert found(*twice) == set()
    assert "ambiguous" in _ours(explainer, tmp_path / "x.pcap")[6]
