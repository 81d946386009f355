"""Probes: values by hand, series that resume, bad input."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from ethermeter.faults import InputError
from ethermeter.live_reports import (
    DatagramCounts,
    Iperf3Interval,
    Iperf3Measurement,
    RoleReport,
    SenderClock,
    SenderCounts,
    StampMeasurement,
    TcpInfo,
)
from ethermeter.metrics import Caution, Metric
from ethermeter.probing import by_agent, by_iperf3, by_stamp, series
from ethermeter.probing.peers import PeerError, address_of
from ethermeter.probing.result import Measurement
from ethermeter.results.interval import Estimate
from ethermeter.store.result import FlowResult, Losses
from program import call, invoke

US = 1000


def reflected(
    answers: dict[int, int], *, sent: int = 40, ahead_ns: int = 0, turn_ns: int = 5 * US
) -> StampMeasurement:
    """A session with 30 us there, 50 us back; answers by sequence number."""
    times = []
    for sequence in answers:
        at = sequence * 10_000 * US
        came = at + 30 * US + ahead_ns
        times.append((at, came, came + turn_ns, at + 80 * US + turn_ns))
    return StampMeasurement(
        sent=sent,
        unsent=0,
        octets=44,
        epoch_ns=0,
        sequence=list(answers),
        reflector_sequence=list(answers.values()),
        times_ns=times,
        sender_ttl=[253] * len(answers),
        hops=[None] * len(answers),
        duplicates=0,
        late=0,
        foreign=0,
        not_authentic=0,
        own_error_ns=None,
        reflector_error_ns=None,
        tlvs=[],
        clock=SenderClock(offset_ns=ahead_ns, uncertainty_ns=40.0 * US),
    )


def estimates(found: StampMeasurement) -> dict[tuple[str, Metric], float]:
    """Values by flow and metric."""
    values, _ = by_stamp.values(found)
    return {(value.flow, value.metric): value.estimate.value for value in values}


def test_times_of_a_session_by_hand() -> None:
    found = estimates(reflected({number: number for number in range(40)}, ahead_ns=7_000_000))
    assert found["round-trip", Metric.ROUND_TRIP] == pytest.approx(80e-6)
    assert found["there", Metric.ONE_WAY_DELAY_P50] == pytest.approx(30e-6)
    assert found["back", Metric.ONE_WAY_DELAY_P50] == pytest.approx(50e-6)
    assert found["there", Metric.DELAY_UNCERTAINTY] == pytest.approx(40e-6)
    assert found["there", Metric.JITTER] == pytest.approx(0.0, abs=1e-12)
    assert found["round-trip", Metric.LOSS] == 0


def test_a_reflector_with_one_time_is_named() -> None:
    _, notes = by_stamp.values(reflected({number: number for number in range(40)}, turn_ns=0))
    assert any("T2 = T3" in note for note in notes)
    assert any("routers on the way there: 2" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # Zero in every packet, as a reflector without a clock writes.
        (lambda at: (at[0], -290_200_701 * 10**9, -290_200_701 * 10**9, at[3]), "stands still"),
        (lambda at: (at[0], at[1], at[1] - 1000, at[3]), "less than no time"),
        (lambda at: (at[0], at[1], at[1] + 90 * US, at[3]), "longer than their round trips"),
        (lambda at: (at[0], 2 * at[1], 2 * at[1], at[3]), "another rate"),
    ],
)
def test_impossible_times_of_a_reflector_give_no_values(change: Any, expected: str) -> None:
    session = reflected({number: number for number in range(40)})
    session = msgspec.structs.replace(session, times_ns=[change(at) for at in session.times_ns])
    values, notes = by_stamp.values(session)
    assert any(expected in note for note in notes), notes
    assert not any("nanoseconds" in note for note in notes)
    assert {value.flow for value in values} == {"round-trip"}
    found = {value.metric: value.estimate.value for value in values}
    assert found[Metric.ROUND_TRIP] == pytest.approx(85e-6)


def test_losses_before_the_first_answer_and_after_the_last_have_no_direction() -> None:
    session = reflected({number: number for number in range(20, 24)})
    values, notes = by_stamp.values(session)
    losses = {value.flow: value.estimate for value in values if value.metric is Metric.LOSS}
    assert losses["round-trip"].value == pytest.approx(0.9)
    assert losses["round-trip"].low >= 0
    assert losses["round-trip"].high <= 1
    assert (losses["there"].value, losses["back"].value) == (0, 0)
    assert any("36 of 40 packets" in note for note in notes), notes


def test_losses_have_the_direction_that_the_reflector_counted() -> None:
    # 40 sent; 3 and 4 were lost there, the answers of 10, 11 and 12 on the way back.
    answers, own = {}, 0
    for number in range(40):
        if number in (3, 4):
            continue
        if number not in (10, 11, 12):
            answers[number] = own
        own += 1
    found = estimates(reflected(answers))
    assert found["there", Metric.LOSS] == pytest.approx(2 / 40)
    assert found["back", Metric.LOSS] == pytest.approx(3 / 38)
    assert found["round-trip", Metric.LOSS] == pytest.approx(5 / 40)


def test_the_direction_of_losses_is_unknown_if_the_reflector_repeats_numbers() -> None:
    session = reflected({number: number for number in range(40) if number != 7})
    assert by_stamp.directions(session) is None
    assert any("direction" in note for note in by_stamp.values(session)[1])


def test_a_session_without_answers_has_no_values() -> None:
    found = estimates(reflected({}, sent=3))
    assert found["round-trip", Metric.LOSS] == 1
    assert np.isnan(found["round-trip", Metric.ROUND_TRIP])


def test_jitter_is_that_of_rfc_3550() -> None:
    assert by_stamp.jitter_s(np.array([0.0, 16e-6, 0.0])) == pytest.approx(1.9375e-6)


def intervals(*octets: int) -> list[Iperf3Interval]:
    """Intervals of 0.1 s with so many octets."""
    return [Iperf3Interval(ns=10**8, octets=each) for each in octets]


def iperf3_result(**fields: object) -> Iperf3Measurement:
    """A test of 1 s with 10 Mb/s."""
    usual: dict[str, object] = {
        "opened_in_ns": [1],
        "window_ns": 10**9,
        "octets": 1_250_000,
        "streams": [(1_250_000, 10**9)],
        "intervals": [
            Iperf3Interval(ns=10**8, octets=125_000 + 1000 * (-1) ** k) for k in range(10)
        ],
        "datagrams": None,
        "tcp": [],
        "round_trips_us": [],
        "sent_again": 0,
        "own_processor": 0.1,
        "server_processor": 0.1,
        "congestion": None,
    }
    return Iperf3Measurement(**(usual | fields))  # type: ignore[arg-type]


def test_a_rate_is_that_of_the_receiver_with_the_interval_of_intervals() -> None:
    (rate, again) = by_iperf3.values_of("tcp-up", iperf3_result(), "up")
    assert rate.estimate.value == pytest.approx(10e6)
    # 10 intervals of 10 Mb/s ± 80 kb/s: at least Student's t with 9 degrees.
    assert rate.estimate.half_width >= 2.262 * 80e3 / 3 * 0.99
    assert again.estimate.value == 0


def test_a_server_that_reports_less_than_was_acknowledged_is_contradicted() -> None:
    # This host sent 10 Mb/s, of which the server says that a tenth came.
    rate, _ = by_iperf3.values_of("tcp-up", iperf3_result(octets=125_000), "up")
    assert rate.estimate.value == pytest.approx(1e6)
    assert rate.estimate.cautions == ("contradicted",)
    assert not rate.estimate.has_interval
    # Few and unlike intervals are no reason for a rate below zero.
    unlike = [
        Iperf3Interval(ns=10**8, octets=octets) for octets in (0, 300_000, 0, 200_000, 125_000)
    ]
    rate, _ = by_iperf3.values_of("tcp-up", iperf3_result(intervals=unlike), "up")
    assert rate.estimate.low == 0 < rate.estimate.high


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (iperf3_result(own_processor=0.95), "this host"),
        (iperf3_result(server_processor=1.2), "the server"),
        (iperf3_result(tcp=[TcpInfo(busy_us=1000, receiver_limited_us=900)]), "receive window"),
        (iperf3_result(tcp=[TcpInfo(busy_us=1000, buffer_limited_us=900)]), "send buffer"),
        (iperf3_result(sent_again=7), "7 segments"),
        (iperf3_result(sent_again=None), "not known"),
        (
            iperf3_result(datagrams=DatagramCounts(sent=100, seen=100, missing=5)),
            "datagrams were lost",
        ),
        (
            iperf3_result(datagrams=DatagramCounts(sent=100, seen=100)),
            "hands to its interface",
        ),
    ],
)
def test_what_limited_a_test(found: Iperf3Measurement, expected: str) -> None:
    assert expected in by_iperf3.limit_of(found, "up", 0)


@pytest.mark.parametrize(
    ("counts", "losses", "expected"),
    [
        # Of a path of 20 Mb/s under ceilings of 200: 14 datagrams waited for consent at the
        # beginning, and nearly all of them for room in the sender's queue.
        ((14, 26_000), (0, ()), "the sender's queue, or the path behind it: 26,000 of 26,689"),
        ((26_000, 14), (0, ()), "the receiver's consent: 26,000 of 26,689 datagrams waited"),
        ((14, 0), (0, ()), "the sender's host: its datagrams neither waited nor were lost"),
        (
            (14, 300),
            (2_000, (("socket", 1_900),)),
            "a host: 1,900 of 26,689 datagrams were dropped",
        ),
        ((14, 300), (2_000, ()), "the path: 2,000 of 26,689 datagrams were lost"),
    ],
)
def test_a_rate_of_datagrams_is_limited_by_what_most_of_them_met(counts, losses, expected) -> None:
    held_back, refused = counts
    missing, seen = losses
    sender = SenderCounts(frames=26_689, unsent=0, held_back=held_back, refused=refused)
    result = FlowResult(
        sending=RoleReport(counted=sender), losses=Losses(missing=missing, seen=seen)
    )
    # A caution on the rate does not decide.
    rate = Estimate(20e6, 0.0, 1.0, (Caution.CONSENT_LIMITED, Caution.HOST_LIMITED))
    found = by_agent.limit_of("udp-up", {Metric.DATA_RATE: rate}, result)
    assert found is not None
    assert found.startswith(expected)


def test_a_path_that_blocks_udp_has_its_values_of_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    def iperf3(_to: str, *, protocol: str, **_: object) -> Iperf3Measurement:
        if protocol == "udp":
            raise PeerError("no answer over UDP")
        return iperf3_result()

    monkeypatch.setattr(by_iperf3, "iperf3", iperf3)
    values, limits, notes = by_iperf3.measured(
        "192.0.2.7:5201", duration_s=10, follow=lambda _flow, _share: None
    )
    assert {value.flow for value in values} == {"tcp-up", "tcp-down", "round-trip"}
    assert set(limits) == {"tcp-up", "tcp-down"}
    assert notes[1:] == [
        f"{flow}: no answer over UDP" for flow in ("udp-up", "udp-down", "light-up", "light-down")
    ]


def test_a_series_resumes_and_keeps_its_slots(tmp_path: Path) -> None:
    question = {"to": "192.0.2.7"}
    with series.opened(tmp_path / "s", question, every_s=10, for_s=60) as kept:
        assert kept.slots == 6
        assert kept.next_slot(kept.begun_s, after=-1) == 0
        kept.append(0, {"at": "2026-01-01T00:00:00Z", "error": "nothing answers"})
        # A process that ran late leaves out slots that are over.
        assert kept.next_slot(kept.begun_s + 35, after=0) == 3
        assert kept.next_slot(kept.begun_s + 61, after=5) is None
    lines = tmp_path / "s" / series.LINES
    lines.write_bytes(lines.read_bytes() + b'{"slot": 1, "at": "20')
    with series.opened(tmp_path / "s", question, every_s=10, for_s=60) as kept:
        value = {"flow": "udp-up", "metric": "data_rate", "value": 5e6, "low": None, "high": None}
        kept.append(2, {"at": "2026-01-01T00:00:20Z", "values": [value]})
        assert [found["slot"] for found in kept.read()] == [0, 2]
        page = kept.write_page().read_text()
        assert "nothing answers" in page
        assert "udp-up" in page
        with (
            pytest.raises(InputError, match="no other process"),
            series.opened(tmp_path / "s", question, every_s=10, for_s=60),
        ):
            pass
    with (
        pytest.raises(InputError, match="every_s"),
        series.opened(tmp_path / "s", question, every_s=11, for_s=60),
    ):
        pass
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with (
        pytest.raises(InputError, match="new directory"),
        series.opened(tmp_path / "other", question, every_s=10, for_s=60),
    ):
        pass
    assert time.time() >= kept.begun_s


def test_a_host_on_which_nothing_answers_is_an_error_of_one_line() -> None:
    ended = invoke("probe", "127.0.77.250:9", "--for", "3 s")
    assert ended.returncode == 1
    assert "refuses connections" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_addresses_with_and_without_ports() -> None:
    assert address_of("192.0.2.7") == ("192.0.2.7", None)
    assert address_of("192.0.2.7:5") == ("192.0.2.7", 5)
    assert address_of("[2001:db8::1]:5") == ("2001:db8::1", 5)
    assert address_of("2001:db8::1") == ("2001:db8::1", None)
    assert json.dumps(address_of("127.0.0.1")) == '["127.0.0.1", null]'


def test_a_reflector_and_a_probe_are_called_from_python() -> None:
    code = (
        "import threading, ethermeter.api.probe as probing, ethermeter.api.reflector as answering\n"
        "serve = lambda: answering.reflector(listen='127.0.77.251:8620')\n"
        "threading.Thread(target=serve, daemon=True).start()\n"
        "found = probing.probe('127.0.77.251:8620', by='stamp', duration='3 s')\n"
        "print(found.by, min(value.value for value in found.values if value.unit == 's') > 0)\n"
    )
    done = call([sys.executable, "-c", code])
    assert done.stdout == "('stamp',) True\n", done.stderr


def test_the_values_of_a_measurement_are_those_of_its_json_and_its_table() -> None:
    session = reflected({number: number for number in range(40)})
    values, notes = by_stamp.values(session)
    found = Measurement("a", "2026-01-01T00:00:00Z", ("stamp",), tuple(values), {}, tuple(notes))
    document = msgspec.json.decode(msgspec.json.encode(found))
    for row, value in zip(found.rows(), document["values"], strict=True):
        names = ("flow", "metric", "unit", "value", "low", "high", "by")
        assert [row[name] for name in names] == [value[name] for name in names]
    undefined = [value for value in document["values"] if value["low"] is None]
    assert {value["error"] for value in undefined} <= {None, 0.0}
