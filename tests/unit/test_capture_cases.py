"""Captures of `tests/captures`, each a kind that was once explained wrongly, and what is right.

They are small enough to be read by hand in another program; the values are from there, and from how
each was made.
"""

import gzip
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from ethermeter.captures import Caution, Connection, Explanation, Limit, explain
from program import invoke

CAPTURES = Path(__file__).parents[1] / "captures"


@dataclass(frozen=True, slots=True)
class Case:
    """What is right of the connection of a capture that carries most.

    `values`: by name of a property or a counter; those of an end begin with `sender.` or
    `receiver.`. `words`: parts of its sentence and of the change. `not_words`: what neither says.
    """

    limit: Limit
    end: str | None
    values: dict[str, object]
    words: tuple[str, ...] = ()
    not_words: tuple[str, ...] = ()


TOLD_BY_NAME = {
    # The option of kind 19 (MD5 of BGP) stands before the scale, in front of a window of 70 << 7.
    "option-before-scale-md5.pcap": Case(
        Limit.RECEIVER_APPLICATION,
        "10.0.0.2:179",
        {"receiver.window_most": 70 << 7, "receiver.wanted_segment": 1460},
    ),
    # Option 254 (accurate ECN) in the answer to SYN.
    "option-before-scale-accecn.pcap": Case(
        Limit.RECEIVER_WINDOW,
        "10.0.0.2:80",
        {"receiver.window_most": 70 << 7, "receiver.wanted_segment": 1460},
    ),
    # Every packet is there again 5 µs later, with the same identification: 1000 segments.
    "captured-twice.pcap": Case(
        Limit.SEND_BUFFER,
        "10.0.0.1:5000",
        {
            "octets": 1_460_000,
            "losses": 0,
            "sender.resent": 0,
            "sender.data_segments": 1000,
            "cautions": (Caution.CAPTURED_TWICE,),
        },
        not_words=("loses", "lost"),
    ),
    # 18.9 of 19 s; the window closes after the first 60 ms.
    "zero-window-at-end.pcap": Case(
        Limit.RECEIVER_APPLICATION,
        "10.0.0.1:5000",
        {"receiver.zero_windows": 7},
        words=("10.0.0.2:80 had used up the window of 10.0.0.1:5000", "18.9 s in all"),
    ),
    "zero-window-at-end-midstream.pcap": Case(
        Limit.RECEIVER_APPLICATION,
        "10.0.0.1:5000",
        {"receiver.zero_windows": 7},
        words=("10.0.0.2:80 had used up the window of 10.0.0.1:5000", "18.9 s in all"),
    ),
    # Seven acknowledgements of one number, then the segment that they ask for.
    "midstream-dupacks.pcap": Case(
        Limit.SENDER_PACE,
        "10.0.0.2:80",
        {
            "receiver.duplicate_acks": 6,
            "sender.resent": 1,
            "sender.late": 0,
            "losses": 1,
        },
    ),
    # The length is that of the frame, of which 96 octets were kept: 90 frames of 14 segments or so.
    "tso-length-zero.pcap": Case(
        Limit.RECEIVER_WINDOW,
        "10.0.0.2:80",
        {"octets": 1_752_000, "sender.holes": 0, "sender.uncaptured_octets": 0},
    ),
    # A client that waits 1.35 s before it asks; the server answers within 62 ms, and sends more.
    "wrong-end.pcap": Case(
        Limit.SENDER_APPLICATION,
        "10.0.0.1:5000",
        {},
        words=("1.35 s in all", "10.0.0.2:80 replied within 62 ms"),
    ),
    # Of 72 answers in two pieces one was acknowledged at once, and one came 2.5 ms late.
    "nagle-delayed-ack.pcapng": Case(
        Limit.DELAYED_ACK,
        "10.77.0.2:5555",
        {},
        words=("6 + 276 octets", "70 times", "TCP_NODELAY", "both pieces at once"),
    ),
    # A wire of 100 Mb/s, of which the capture has nothing: every acknowledgement lets one segment
    # go, so that they follow each other as the window allows.
    "link-seen-too-low.pcapng": Case(
        Limit.RECEIVER_WINDOW,
        "10.77.0.2:5555",
        {"link_bps": None},
        not_words=("10.9", "estimate"),
    ),
    # 512 kb/s on the wire, with preamble and gap, are 500 kb/s of frames.
    "slow-link-three-streams.pcapng": Case(
        Limit.NETWORK,
        None,
        {},
        words=(
            "3 connections from 10.77.0.1 to 10.77.0.2 filled a link together",
            "482 kb/s of payload",
            "500 kb/s",
        ),
        not_words=("Gb/s",),
    ),
    "syn-unanswered.pcap": Case(
        Limit.UNANSWERED,
        None,
        {},
        words=("10.0.0.2:80 did not answer 5 SYNs of 10.0.0.1:5000 within 15 s", "no connection"),
        not_words=("loss", "loses"),
    ),
}


def _explained(name: str) -> Explanation:
    return explain(CAPTURES / f"{name}.gz")


def _value(of: Connection, name: str) -> object:
    end, _, key = name.rpartition(".")
    return getattr(getattr(of, end).of, key) if end else getattr(of, name)


@pytest.mark.parametrize("name", TOLD_BY_NAME)
def test_a_capture_that_was_explained_wrongly_is_explained_rightly(name):
    case = TOLD_BY_NAME[name]
    of = _explained(name).connections[0]
    verdict = of.verdict
    assert (verdict.limit, verdict.end) == (case.limit, case.end), of.sentence
    assert {key: _value(of, key) for key in case.values} == case.values
    text = "\n".join([of.sentence, str(verdict.change), str(verdict.estimate_text or "")])
    for word in case.words:
        assert word in text
    for word in case.not_words:
        assert word not in text


def test_every_capture_has_a_row():
    assert {path.name.removesuffix(".gz") for path in CAPTURES.iterdir()} == set(TOLD_BY_NAME)


def test_an_option_that_is_not_known_changes_nothing(tmp_path):
    """Written over by as many octets that do nothing, it leaves the same explanation."""
    whole = gzip.decompress((CAPTURES / "option-before-scale-md5.pcap.gz").read_bytes())
    begin = whole.find(bytes([19, 18]))
    without = bytearray(whole)
    count = 0
    while begin >= 0:
        without[begin : begin + 18] = bytes([1] * 18)
        count += 1
        begin = bytes(without).find(bytes([19, 18]))
    assert count == 423, "every segment has it"
    (tmp_path / "without.pcap").write_bytes(bytes(without))
    (plain,) = explain(tmp_path / "without.pcap").connections
    (found,) = _explained("option-before-scale-md5.pcap").connections
    assert found.sentence == plain.sentence
    assert found.verdict == plain.verdict
    assert found.of == plain.of


def test_the_link_that_streams_share_is_said_of_each_and_once_of_their_path():
    found = _explained("slow-link-three-streams.pcapng")
    streams = [each for each in found.connections if not each.is_control]
    assert len(streams) == 3
    for each in streams:
        assert each.limited_by == "network: full link, shared by 3 connections"
        # What is drawn of its time is what is said of it.
        assert each.waits["shared_link"] == each.verdict.share == 1
        assert sum(each.waits.values()) == pytest.approx(1)
        # Twice what it had: together below what two such links carry.
        assert each.verdict.estimate.most_bps == pytest.approx(2 * each.goodput_bps)
    (path,) = found.paths
    assert path.addresses == ("10.77.0.1", "10.77.0.2")
    # 481 kb/s by the issue of the capture; of its whole time, and without what was sent again.
    assert path.goodput_bps == pytest.approx(481e3, rel=0.01)
    assert path.limits == [("network: full link, shared by 3 connections", 3)]


def test_the_control_connection_of_iperf3_is_named_and_not_judged():
    (control,) = (
        each for each in _explained("slow-link-three-streams.pcapng").connections if each.is_control
    )
    assert (control.number, control.verdict, control.limited_by) == (1, None, "control connection")
    assert "only controls the connections to the same port" in control.sentence


def test_who_delays_an_acknowledgement_does_so_by_40_ms():
    (of,) = _explained("nagle-delayed-ack.pcapng").connections
    held = of.verdict and of.swapped.sender.of.held
    count = of.swapped.sender.waited("delayed_ack").count
    # 40 ms of Linux, and the ticks of 4 ms in which its timer counts.
    assert 0.040 <= held.delayed_ns / count * 1e-9 <= 0.048


def test_a_compressed_file_is_explained_as_the_file_is(tmp_path):
    name = "wrong-end.pcap"
    (tmp_path / name).write_bytes(gzip.decompress((CAPTURES / f"{name}.gz").read_bytes()))
    plain, compressed = explain(tmp_path / name), _explained(name)
    assert plain.of == compressed.of


@pytest.mark.parametrize("cut", [3, 12, 60, 200])
def test_a_compressed_file_that_is_cut_is_explained_as_far_as_it_goes(tmp_path, cut):
    whole = (CAPTURES / "wrong-end.pcap.gz").read_bytes()
    (tmp_path / "x.pcap.gz").write_bytes(whole[:cut])
    code, out, err = invoke("explain", "x.pcap.gz", cwd=tmp_path)
    (line,) = err.splitlines()
    if code == 0:
        assert "within a compressed stream" in line
        assert out
    else:
        assert (code, out) == (2, "")
        assert line.startswith("x.pcap.gz: ")


def test_what_expands_to_no_capture_is_refused(tmp_path):
    (tmp_path / "x.pcap.gz").write_bytes(gzip.compress(b"no capture at all"))
    code, out, err = invoke("explain", "x.pcap.gz", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("x.pcap.gz: file = not a capture: begins with [6e, 6f, 20, 63]")


def test_a_damaged_compressed_file_is_refused_with_one_line(tmp_path):
    whole = bytearray((CAPTURES / "captured-twice.pcap.gz").read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    (tmp_path / "x.pcap.gz").write_bytes(bytes(whole))
    code, out, err = invoke("explain", "x.pcap.gz", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.fixture
def with_layers(tmp_path) -> Callable[[bytes, int], Explanation]:
    """Explain `wrong-end` with octets before each of its IP packets, on a link."""

    def with_layers(before: bytes, link: int) -> Explanation:
        whole = gzip.decompress((CAPTURES / "wrong-end.pcap.gz").read_bytes())
        made, at = bytearray(whole[:20] + struct.pack("<I", link)), 24
        while at < len(whole):
            seconds, fraction, kept, original = struct.unpack_from("<IIII", whole, at)
            ip = whole[at + 16 + 14 : at + 16 + kept]
            octets = len(before) + len(ip)
            made += struct.pack("<IIII", seconds, fraction, octets, octets + original - kept)
            made += before + ip
            at += 16 + kept
        (tmp_path / "x.pcap").write_bytes(bytes(made))
        return explain(tmp_path / "x.pcap")

    return with_layers


@pytest.mark.parametrize(
    ("link", "before"),
    [
        (9, "ff030021"),  # PPP
        (104, "0f000800"),  # Cisco HDLC
        (107, "184103cc"),  # frame relay
        (1, "020000000001020000000002884700010140"),  # MPLS
        (1, "0200000000010200000000020040aaaa030000000800"),  # SNAP
    ],
    ids=["PPP", "Cisco HDLC", "frame relay", "MPLS", "SNAP"],
)
def test_encapsulations_change_nothing(with_layers, link, before):
    (found,) = with_layers(bytes.fromhex(before), link).connections
    (plain,) = _explained("wrong-end.pcap").connections
    assert found.sentence == plain.sentence


def test_an_encapsulation_that_is_not_read_is_named_and_counted(with_layers):
    found = with_layers(bytes.fromhex("02000000000102000000000288e50000000000000000"), 1)
    assert found.connections == ()
    assert found.warnings == ("6 packets are in encapsulations that are not read: 6 in MACsec",)
