"""`ethermeter explain`: what it prints of captures made here, and what it says of files that are
none.
"""

import csv
import gzip
import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import captures
import pytest
from captures import Segment
from ethermeter.api.explain import explain as explained
from ethermeter.captures import Caution, Limit, explain
from ethermeter.captures.limits import PARTS, RULES
from ethermeter.faults import InputError
from program import invoke

ROUND_TRIP_US = 10_000


@pytest.fixture
def ask(tmp_path: Path):
    """Run the command in a directory of its own."""
    return lambda *words: invoke("explain", *words, cwd=tmp_path)


def datagrams() -> bytes:
    """Return a stream of marked frames of which one is lost and two change places, and two that
    carry no mark.
    """
    marked = [
        bytes([0xE3, 0x10, 0, 1, 0, 2]) + number.to_bytes(6, "big") + bytes(48)
        for number in (0, 1, 3, 2, 5)
    ]
    ethernet = bytes.fromhex("020000000001 020000000002")
    tag = bytes.fromhex("8100 a000")  # PCP 5
    packets = [(at * 1000, ethernet + tag + b"\x88\xb5" + mark) for at, mark in enumerate(marked)]
    udp = struct.pack(">HHHH", 7, 9, 8 + 100, 0) + bytes(100)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(
        [10, 0, 0, 1, 10, 0, 0, 2]
    )
    return captures.pcap(
        [*packets, *((10_000 + at * 500, ethernet + b"\x08\x00" + ip + udp) for at in range(2))]
    )


@pytest.mark.usefixtures("wide")
def test_the_table_tells_what_limited_each_connection(ask, tmp_path):
    # Windows of 115 times 128 octets have room for the ten segments of a round, and no more.
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    code, out, err = ask("x.pcap")
    assert (code, err) == (0, "")
    assert "x.pcap: 225 packets in 0.2206 s: 225 TCP" in out
    (row,) = [line for line in out.splitlines() if line.strip().startswith("1  ")]
    assert row.split()[1:5] == ["10.0.0.1:5000", "10.0.0.2:80", "292", "kB"]
    assert "receiver's window" in row
    # 19 times 10.02 ms of 220.6 ms; for what comes after the last round, a FIN, there was room.
    assert (
        "1: 86% of the time: 10.0.0.1:5000 had used up the window of 10.0.0.2:80 (at most 14.7 kB)"
        in out
    )


def test_json_has_everything_the_core_says_and_what_limited_each(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=5000))
    code, out, _ = ask("x.pcap", "--json")
    found = json.loads(out)
    assert (code, found["format"], found["kinds"]["tcp"]) == (0, "ethermeter-explanation/1", 225)
    (connection,) = found["connections"]
    limited = connection["limited"]
    assert (limited["by"], limited["end"], limited["role"]) == (
        "send-buffer",
        "10.0.0.1:5000",
        "sender host",
    )
    assert (limited["losses"], limited["vantage"]) == (0, "near the sender")
    assert sum(connection["limited"]["shares"].values()) == pytest.approx(1)
    # Twenty round trips from the last segment of a round to its acknowledgement, and 20 µs each
    # until the sender goes on.
    assert connection["limits_ns"]["send_buffer"] == 20 * (ROUND_TRIP_US + 20) * 1000
    assert sum(connection["limits_ns"].values()) == connection["duration_ns"]
    delays = connection["ends"][0]["ack_delay"]
    assert (delays["count"], delays["least_ns"], delays["most_ns"]) == (
        200,
        ROUND_TRIP_US * 1000,
        (ROUND_TRIP_US + 9) * 1000,
    )


@pytest.mark.usefixtures("wide")
def test_flows_have_rates_gaps_and_where_they_are_ours_losses(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(datagrams())
    code, out, _ = ask("x.pcap")
    assert code == 0
    assert "5 raw frames" in out
    assert "2 UDP" in out
    (marked,) = [line.split() for line in out.splitlines() if line.startswith("02:00")]
    assert marked[:4] == ["02:00:00:00:00:02", "02:00:00:00:00:01", "5", "5"]
    assert marked[-2:] == ["1", "1"]
    (bare,) = [line.split() for line in out.splitlines() if line.startswith("10.0.0.1:7")]
    assert bare[2:4] == ["–", "2"]
    assert bare[-2:] == ["–", "–"]


def test_one_connection_is_told_at_length(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    code, out, _ = ask("x.pcap", "--connection", "1")
    assert code == 0
    assert re.search(r"^Segments with payload +200 +0$", out, re.MULTILINE)
    assert "receiver's window" in out
    code, out, err = ask("x.pcap", "--connection", "7")
    assert (code, out) == (2, "")
    assert err == (
        "command line: --connection = 7: the number of a connection that is listed, from 1 to 1\n"
    )


@pytest.mark.parametrize("cut", [1, 16, 40, 1000])
def test_a_file_that_ends_within_a_packet_is_explained_as_far_as_it_goes(ask, tmp_path, cut):
    whole = captures.rounds(20, window=115)
    (tmp_path / "x.pcap").write_bytes(whole[:-cut])
    code, out, err = ask("x.pcap")
    assert code == 0
    (line,) = err.splitlines()
    assert line.startswith("x.pcap: ends at octet ")
    packets = int(line.split("; ")[1].split()[0])
    assert f"x.pcap: {packets} packets" in out


def test_what_may_not_hold_is_said():
    # No handshake; near the receiver; a capture that has lost packets itself.
    def cautions(segments: list[Segment], tmp: Path) -> tuple[Caution, ...]:
        tmp.write_bytes(captures.segments(segments))
        (found,) = explain(tmp).connections
        return found.cautions

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        body = [Segment(100_000, 0, 1, 1, 1000), Segment(100_100, 1, 1, 1001)]
        assert cautions(body, path) == (Caution.NO_HANDSHAKE,)
        assert cautions([*captures.opened(), *body], path) == ()
        assert cautions(body[:1], path) == (Caution.NO_HANDSHAKE, Caution.ONE_WAY)
        far = [
            Segment(0, 0, 0, 0, flags="S"),
            Segment(50, 1, 0, 1, flags="SA"),
            Segment(50_000, 0, 1, 1),
        ]
        assert cautions([*far, *body], path) == (Caution.NEAR_RECEIVER,)
        assert cautions([*captures.opened(), *body, Segment(200_000, 1, 1, 9001)], path) == (
            Caution.UNCAPTURED,
        )
        late = [*body, Segment(100_200, 0, 2001, 1, 1000), Segment(100_250, 0, 1001, 1, 1000)]
        assert cautions([*captures.opened(), *late], path) == (Caution.GUESSED,)


def test_every_cause_caution_and_key_is_documented(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    pages = ("explanation/captures.md", "reference/captures.md", "reference/capture-json.md")
    rules, cautions_page, formats = ((docs / name).read_text(encoding="utf-8") for name in pages)
    rules += cautions_page
    for name, rule in RULES.items():
        assert f"| `{name}` | {rule} |" in rules
    assert set(RULES) == set(PARTS)
    for name in (*Caution, *Limit):
        assert f"`{name}`" in rules or f"| {name} |" in rules
    (tmp_path / "x.pcap").write_bytes(captures.rounds(1, window=115) + datagrams()[24:])
    found = explain(tmp_path / "x.pcap")
    for table in (
        found.of,
        found.of.connections[0],
        found.of.connections[0].ends[0],
        next(iter(found.of.connections[0].ends[0].waits.values())),
        found.of.flows[0],
        found.of.paths[0],
        found.of.paths[0].directions[0],
    ):
        for key in table.__struct_fields__:
            assert f"`{key}`" in formats or key in {"address", "port", "ends"}, key


def test_segments_that_the_interface_cuts_are_told(tmp_path):
    (tmp_path / "x.pcap").write_bytes(
        captures.segments(
            [*captures.opened(), Segment(1000, 0, 1, 1, 2920), Segment(2000, 1, 1, 2921)]
        )
    )
    (found,) = explain(tmp_path / "x.pcap").connections
    assert found.cautions == (Caution.CUT_BY_INTERFACE,)


def test_packets_that_go_back_in_time_are_told(ask, tmp_path):
    segments = captures.opened()
    (tmp_path / "x.pcap").write_bytes(captures.segments([segments[1], segments[0], segments[2]]))
    code, _, err = ask("x.pcap")
    assert code == 0
    assert err.startswith("x.pcap: 1 packets are earlier than one before them")


def test_the_report_is_written_and_named(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(3, window=115))
    code, out, _ = ask("x.pcap", "--figure", "x.html")
    assert (code, out.splitlines()[-1]) == (0, "report: x.html")
    assert "What the connections waited for" in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("output", ["x.pcap", "./x.pcap", "nowhere/x.html", "."])
def test_where_no_report_can_be_written_is_refused_before_anything_is_read(ask, tmp_path, output):
    whole = captures.rounds(3, window=115)
    (tmp_path / "x.pcap").write_bytes(whole)
    code, out, err = ask("x.pcap", "--figure", output)
    assert (code, out) == (2, "")
    assert err.startswith("command line: --figure = ")
    assert (tmp_path / "x.pcap").read_bytes() == whole


def test_ctrl_c_ends_it_with_130(ask, tmp_path, monkeypatch):
    import ethermeter.captures.explanation as room

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "explain_capture", interrupted)
    (tmp_path / "x.pcap").write_bytes(captures.rounds(1, window=115))
    assert ask("x.pcap") == (130, "", "ethermeter: interrupted\n")


def test_whatever_the_follower_raises_comes_out_and_nothing_more_is_read(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(captures.pcap((at, bytes(60)) for at in range(100_000)))
    told = []

    def follow(octets: int, most: int) -> None:
        told.append((octets, most))
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain(path, follow)
    # At the beginning, and after 32 768 packets of 76 octets.
    assert told == [(24, 24 + 76 * 100_000), (24 + 76 * 32_768, 24 + 76 * 100_000)]


def test_shares_of_limits_sum_to_one(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(captures.rounds(5, window=115))
    (connection,) = explain(path).connections
    assert sum(connection.shares.values()) == pytest.approx(1)


def test_the_slow_end_the_change_and_the_vantage_are_printed(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    lines = ask("x.pcap")[1].splitlines()
    assert "   slow: receiver host of 10.0.0.2:80" in lines
    assert "   change: raise the receive buffer of 10.0.0.2 (net.ipv4.tcp_rmem, SO_RCVBUF)" in lines
    assert "   captured near the sender" in lines


def _statistics(order: str, *counts: tuple[int, int]) -> tuple[int, bytes]:
    told = b"".join(struct.pack(order + "HHQ", code, 8, count) for code, count in counts)
    return 5, struct.pack(order + "IQ", 0, 0) + told + bytes(4)


def _blocks(order: str, *after: tuple[int, bytes]) -> bytes:
    """Return a transfer as pcapng, with these blocks at its end."""
    frames = [
        captures.frame(each)
        for each in (
            *captures.opened(),
            Segment(100_000, 0, 1, 1, 1000),
            Segment(100_100, 1, 1, 1001),
        )
    ]
    packets = (captures.packet(order, at * 1000, data) for at, data in enumerate(frames))
    return captures.pcapng(order, captures.interface(order), *packets, *after)


@pytest.mark.parametrize("order", "<>")
def test_what_the_capture_itself_dropped_is_told_with_a_caution(ask, tmp_path, order):
    (tmp_path / "x.pcapng").write_bytes(
        _blocks(order, _statistics(order, (4, 9999), (5, 2), (6, 8888), (7, 40), (8, 7777)))
    )
    code, out, err = ask("x.pcapng", "--figure", "x.html")
    assert code == 0
    assert "\ndropped by the capture itself: 42 packets\n" in out
    assert "caution: dropped-by-capture" in out
    (line,) = err.splitlines()
    assert line.startswith("x.pcapng: the capture itself dropped 42 packets")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<li>The capture itself dropped 42 packets" in page
    assert "<code>dropped-by-capture</code>" in page
    told = json.loads(ask("x.pcapng", "--json")[1])
    assert told["dropped"] == {"by_interface": 2, "by_system": 40}
    assert told["connections"][0]["limited"]["cautions"] == ["dropped-by-capture"]


def test_a_capture_that_dropped_nothing_says_so_and_one_that_does_not_say_is_not_asked(
    ask, tmp_path
):
    (tmp_path / "none.pcapng").write_bytes(_blocks("<", _statistics("<", (7, 0))))
    code, out, err = ask("none.pcapng")
    assert (code, err) == (0, "")
    assert "\ndropped by the capture itself: 0 packets\n" in out
    assert "caution" not in out
    (tmp_path / "x.pcap").write_bytes(captures.rounds(1, window=115))
    (tmp_path / "x.pcapng").write_bytes(_blocks("<", _statistics("<", (4, 9))))
    for name in ("x.pcap", "x.pcapng"):
        code, out, err = ask(name, "--figure", "x.html")
        assert (code, err) == (0, "")
        assert "dropped" not in out
        assert "Dropped by the capture" not in (tmp_path / "x.html").read_text(encoding="utf-8")
        assert json.loads(ask(name, "--json")[1])["dropped"] == {
            "by_interface": None,
            "by_system": None,
        }


def _malformed() -> Iterator[tuple[str, bytes]]:
    good = captures.rounds(1, window=115)
    beginnings = [
        b"GIF89a",
        b"\x7fELF",
        b"PK\x03\x04",
        b"\x1f\x8b\x08",
        b"%PDF-1.7",
        b"<html>",
        b"{}",
        b"\x89PNG\r\n",
        b"RIFF",
        b"\xff\xd8\xff",
    ]
    beginnings += [
        b"XCP\x00",
        b"btsn",
        b"RTSS",
        b"\xa1\xb2\xc3",
        b"\x34\xcd\xb2\xa1",
        b"\n\r\r\r",
        b"\0",
        b"\0" * 4000,
        b"no capture\n",
        b"\xff" * 99,
    ]
    yield from ((f"begins with {begin[:4]!r}", begin) for begin in beginnings)
    yield "empty", b""
    yield from ((f"a header cut at {cut}", good[:cut]) for cut in range(4, 24, 2))
    yield "a header and nothing else", good[:24]
    yield from (
        (f"its first packet cut at {cut}", good[: 24 + cut]) for cut in (1, 8, 15, 16, 40, 73)
    )
    yield from (
        (f"link type {link}", captures.pcap([(0, bytes(60))], link=link))
        for link in (2, 3, 7, 8, 105, 119, 120, 117, 127, 147, 189, 192, 195, 230)
    )
    for length in (262_145, 1 << 20, 1 << 31, (1 << 32) - 1):
        for at in (32, 24 + 16 + len(captures.frame(captures.opened()[0])) + 8):
            yield (
                f"captured length {length} at {at}",
                good[:at] + struct.pack("<I", length) + good[at + 4 :],
            )
    for order in "<>":
        interface = captures.interface(order)
        whole = captures.packet(order, 0, b"abcd")
        told = "little" if order == "<" else "big"
        yield f"{told}: no packet", captures.pcapng(order, interface)
        yield f"{told}: no block", captures.pcapng(order)
        yield f"{told}: an interface that is not there", captures.pcapng(order, whole)
        yield (
            f"{told}: another interface",
            captures.pcapng(order, interface, (6, struct.pack(order + "IIIII", 5, 0, 0, 0, 0))),
        )
        yield (
            f"{told}: more captured than there is",
            captures.pcapng(
                order, interface, (6, struct.pack(order + "IIIII", 0, 0, 0, 400, 400) + b"abcd")
            ),
        )
        yield (
            f"{told}: a packet's block too short",
            captures.pcapng(order, interface, (6, bytes(16))),
        )
        yield f"{told}: an interface's block too short", captures.pcapng(order, (1, bytes(4)))
        yield (
            f"{told}: an option beyond its block",
            captures.pcapng(order, (1, struct.pack(order + "HHIHH", 1, 0, 0, 2, 99))),
        )
        yield (
            f"{told}: statistics of another interface",
            captures.pcapng(order, interface, (5, struct.pack(order + "IQ", 1, 0))),
        )
        yield f"{told}: statistics too short", captures.pcapng(order, interface, (5, bytes(8)))
        yield (
            f"{told}: a statistic beyond its block",
            captures.pcapng(order, interface, (5, struct.pack(order + "IQHH", 0, 0, 7, 8))),
        )
        yield (
            f"{told}: places of a time",
            captures.pcapng(order, (1, struct.pack(order + "HHIHHI", 1, 0, 0, 9, 1, 0x7F7F7F7F))),
        )
        yield (
            f"{told}: only of link 147",
            captures.pcapng(order, (1, struct.pack(order + "HHI", 147, 0, 0)), whole),
        )
        start = captures.pcapng(order, interface, whole)
        for length in (0, 4, 8, 11, 13, 30, (16 << 20) + 4, (1 << 32) - 4):
            yield (
                f"{told}: a block of {length}",
                start + struct.pack(order + "II", 6, length) + bytes(64),
            )
        yield f"{told}: a closing length", start[:-4] + struct.pack(order + "I", 99)
        yield f"{told}: a section's byte order", b"\n\r\r\n" + bytes(24)
        for length in (12, 24, 29, 1 << 30):
            yield (
                f"{told}: a section of {length}",
                start[:4] + struct.pack(order + "I", length) + start[8:],
            )


MALFORMED = dict(_malformed())


def test_there_are_a_hundred_malformed_files():
    assert len(MALFORMED) >= 100


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_ends_with_2_and_one_clear_line(ask, tmp_path, content):
    (tmp_path / "x.pcap").write_bytes(content)
    code, out, err = ask("x.pcap", "--figure", "x.html")
    assert (code, out) == (2, ""), err
    (line,) = err.splitlines()
    assert line.startswith("x.pcap: ")
    assert len(line) < 300
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.pcap"], "no report of nothing"


def test_standard_input_is_a_file_too(tmp_path):
    whole = captures.rounds(20, window=115)
    for content in (whole, gzip.compress(whole)):
        done = subprocess.run(
            [sys.executable, "-m", "ethermeter", "explain", "-", "--json"],
            input=content,
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
        told = json.loads(done.stdout)
        assert (told["file"], told["packets"]) == ("standard input", 225)
        assert told["connections"][0]["limited"]["by"] == "receiver-window"
    done = subprocess.run(
        [sys.executable, "-m", "ethermeter", "explain", "-"],
        input=b"",
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("standard input: file = not a capture: begins with []")


def _syns(count: int) -> list[Segment]:
    """Return SYNs of one attempt, each twice as long after the one before."""
    return [Segment(1_000_000 * (2**at - 1), 0, 0, 0, flags="S") for at in range(count)]


def test_a_syn_that_nobody_answers_or_that_is_refused_is_no_connection(ask, tmp_path):
    unanswered = "10.0.0.2:80 did not answer"
    for count, said in (
        (1, f"{unanswered} 1 SYN of 10.0.0.1:5000: no connection."),
        (4, f"{unanswered} 4 SYNs of 10.0.0.1:5000 within 7 s: no connection."),
    ):
        (tmp_path / "x.pcap").write_bytes(captures.segments(_syns(count)))
        (of,) = explain(tmp_path / "x.pcap").connections
        assert (of.limit, of.sentence, of.share_text) == (Limit.UNANSWERED, said, "–")
    reset = Segment(120, 1, 0, 1, flags="RA")
    (tmp_path / "x.pcap").write_bytes(captures.segments([*_syns(1), reset]))
    (of,) = explain(tmp_path / "x.pcap").connections
    assert (of.limit, of.verdict.end, of.limited_by) == (Limit.REFUSED, "10.0.0.2:80", "refused")
    assert of.sentence == (
        "10.0.0.2:80 refused the connection: a reset 120 µs after the SYN of 10.0.0.1:5000."
    )
    assert "port 80 of 10.0.0.2" in of.verdict.change
    out = ask("x.pcap")[1]
    assert "   slow: receiver host of 10.0.0.2:80" in out.splitlines()
    # What was open and is reset then was a connection.
    segments = [
        *captures.opened(),
        Segment(9000, 0, 1, 1, 100),
        Segment(9100, 1, 1, 101, flags="R"),
    ]
    (tmp_path / "x.pcap").write_bytes(captures.segments(segments))
    (of,) = explain(tmp_path / "x.pcap").connections
    assert of.limit not in (Limit.REFUSED, Limit.UNANSWERED)


@pytest.mark.usefixtures("wide")
def test_connections_between_two_hosts_have_one_line_together(ask, tmp_path):
    both = [captures.rounds(20, window=115, port=port)[24:] for port in (5000, 5001)]
    (tmp_path / "x.pcap").write_bytes(captures.pcap([]) + b"".join(both))
    out = ask("x.pcap")[1]
    # 200 segments of 1460 octets each, side by side in 220.6 ms.
    assert (
        "path 10.0.0.1 to 10.0.0.2: 2 connections, 584 kB of payload in 221 ms, "
        "21.2 Mb/s together. Limited by: receiver's window (2)." in out
    )
    told = json.loads(ask("x.pcap", "--json")[1])["path_summaries"]
    assert [path["connections"] for path in told] == [[1, 2]]
    assert ask("x.pcap", "--figure", "x.html")[0] == 0
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "10.0.0.1 to 10.0.0.2: 2 connections, 584 kB" in page
    # One connection alone has none.
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    assert "path " not in ask("x.pcap")[1]


def test_what_is_no_file_is_said(ask, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, said in (("nothing.pcap", "not there"), ("folder", "not a file")):
        code, _, err = ask(name)
        assert (code, err) == (2, f"{name}: file = {said}: a capture file, pcap or pcapng\n")


def test_a_link_that_is_not_read_is_named(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(captures.pcap([(0, bytes(60))], link=147))
    with pytest.raises(
        InputError,
        match="link type = 147: Ethernet, IP, Linux cooked capture, BSD loopback, PPP, PPPoE",
    ):
        explain(path)


def test_in_python_an_explanation_has_the_connections_with_their_verdicts(tmp_path):
    file = tmp_path / "x.pcap"
    file.write_bytes(captures.rounds(20, window=115))
    found = explained(file, figure=tmp_path / "x.html")
    (connection,) = found.connections
    assert (connection.limit, found.report) == (Limit.RECEIVER_WINDOW, tmp_path / "x.html")
    with pytest.raises(InputError, match="connection = 7"):
        explained(file, connection=7)


def test_csv_has_a_row_for_each_connection(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    code, out, _ = ask("x.pcap", "--csv")
    (row,) = csv.DictReader(out.splitlines())
    assert code == 0
    assert (row["number"], row["sender"], row["limited_by"]) == (
        "1",
        "10.0.0.1:5000",
        "receiver-window",
    )
    assert float(row["duration_s"]) == pytest.approx(0.2206, rel=1e-3)


@pytest.mark.parametrize(
    ("speed_bps", "said"),
    [
        (
            100_000,
            "load of a link of 100 kb/s: 1.07% over all 75 s, at most 16% over 1 s, "
            "1.2% over 1 min",
        ),
        (None, "load: 1.07 kb/s over all 75 s, at most 16 kb/s over 1 s, 1.2 kb/s over 1 min"),
    ],
)
@pytest.mark.usefixtures("wide")
def test_the_busiest_second_and_minute_are_told(ask, tmp_path, speed_bps, said):
    # Frames of 1000 octets: two in second 10, eight alone, one of them after a minute: 80 000 bit
    # in 75 s, 16 000 in the second, 72 000 in the first minute.
    times_s = (0, 10, 10.5, 20, 25, 30, 35, 40, 50, 75)
    frame = bytes.fromhex("020000000001 020000000002 88b5") + bytes(986)
    blocks = [captures.packet("<", round(at * 1e6), frame) for at in times_s]
    (tmp_path / "x.pcapng").write_bytes(
        captures.pcapng("<", captures.interface("<", speed_bps=speed_bps), *blocks)
    )
    code, out, _ = ask("x.pcapng")
    assert code == 0
    assert said in out


@pytest.mark.usefixtures("wide")
def test_a_capture_shorter_than_a_second_has_no_peaks(ask, tmp_path):
    (tmp_path / "x.pcap").write_bytes(captures.rounds(20, window=115))
    assert "load" not in ask("x.pcap")[1].split("1: 86%")[0].replace("payload", "")
