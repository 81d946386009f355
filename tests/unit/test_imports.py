"""Files of other programs: their values as estimates of our metrics, by hand."""

import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ethermeter as em
import msgspec
import pytest
from comparing import compare
from ethermeter.calibration import read_data
from ethermeter.faults import InputError
from ethermeter.imports import parse_columns, read
from ethermeter.imports.matching import matched
from ethermeter.metrics import Metric
from ethermeter.probing import series
from ethermeter.probing.result import Measurement, Value
from ethermeter.results.interval import Estimate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import invoke

SECONDS = 10
IMPORTED = Path(__file__).with_name("imported")
IPERF2 = "20261127031833,127.0.0.1,50287,127.0.0.1,15011,1,0.0-1.0,1252440,10019520"
"""What `iperf -y C` of version 2.1.8 writes of a second; of UDP more follows."""
NS3 = "SimulationSecond,ReceiveRate,PacketsReceived\n"
RIGHT: dict[str, dict[str, dict[str, float]]] = {
    # Only "TCP upload" is a rate; with :: and the name of a figure of its socket it is not.
    "own.flent.gz": {"Ping (ms) ICMP": {"round_trip": 0.0262}, "TCP upload": {"data_rate": 0.21e6}},
    # The sums of the other direction are there under the same keys.
    "bidir-3.7.json": {
        "tcp-up": {"data_rate": 9e8, "retransmitted": 3},
        "tcp-down": {"data_rate": 1e8, "retransmitted": 77},
    },
    # The last interval, without packets, has a share of -nan; the whole test has none lost.
    "nan-3.0.json": {"udp-up": {"data_rate": 1e6, "loss": 0.0, "jitter": 13e-6}},
    # 2 Gb/s were sent, of which 431 629 of 863 259 packets were lost.
    "udp-3.1.json": {
        "udp-up": {
            "data_rate": 1999998451.2 * (1 - 431629 / 863259),
            "loss": 431629 / 863259,
            "jitter": 13e-6,
        }
    },
    # A server that sent: it is not told what its client received.
    "tcp-reverse-server-3.12.json": {"tcp-down": {"retransmitted": 59}},
    "udp-bidir-server-3.12.json": {
        "udp-up": {
            "data_rate": 1941009.1062775084,
            "loss": 13 / 518,
            "jitter": 2.815661747285941e-3,
        }
    },
}
"""What is right of files of other programs, by flow and metric, and nothing else of these."""


def iperf3_udp(rate_mbps: float = 8.0) -> dict[str, Any]:
    """Text of `iperf3 --udp --json`, with a tenth of a second more or less in each interval."""
    octets = rate_mbps * 1e6 / 8
    intervals = [
        {"sum": {"seconds": 1.0, "bytes": octets * (1 + 0.1 * (-1) ** number), "omitted": False}}
        for number in range(SECONDS)
    ]
    total = {"bits_per_second": rate_mbps * 1e6, "lost_percent": 0.5, "jitter_ms": 0.25}
    return {
        "start": {"test_start": {"protocol": "UDP", "reverse": 1}},
        "intervals": intervals,
        "end": {"sum_received": total},
    }


def written(path: Path, document: object) -> Path:
    """Write JSON."""
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("name", [path.name for path in sorted(IMPORTED.iterdir())])
def test_files_that_were_read_wrongly_once(name: str) -> None:
    found = read(IMPORTED / name)
    assert set(found) == set(RIGHT[name])
    for flow, values in RIGHT[name].items():
        percentiles = {metric for metric in found[flow] if metric.startswith("round_trip_")}
        assert set(found[flow]) - percentiles == set(values)
        for metric, value in values.items():
            assert found[flow][Metric(metric)].value == pytest.approx(value), metric


def test_iperf3_of_udp(tmp_path: Path) -> None:
    found = read(written(tmp_path / "udp.json", iperf3_udp()))
    assert list(found) == ["udp-down"]
    values = found["udp-down"]
    assert values[Metric.DATA_RATE].value == 8e6
    assert values[Metric.LOSS].value == 0.005
    assert values[Metric.JITTER].value == 0.00025
    # Ten intervals of 7.2 and 8.8 Mb/s: standard error 0.8 / 3 Mb/s or more.
    assert values[Metric.DATA_RATE].half_width > 2.26 * 0.8e6 / 3


def test_iperf3_in_both_directions(tmp_path: Path) -> None:
    sums = {"bits_per_second": 5e6}
    end = {
        "sum_sent": {"bits_per_second": 6e6, "retransmits": 3},
        "sum_received": sums,
        "sum_sent_bidir_reverse": {"retransmits": 4},
        "sum_received_bidir_reverse": {"bits_per_second": 7e6},
    }
    document = {"start": {"test_start": {"protocol": "TCP", "reverse": 0}}, "end": end}
    found = read(written(tmp_path / "tcp.json", document))
    assert {flow: values[Metric.DATA_RATE].value for flow, values in found.items()} == {
        "tcp-up": 5e6,
        "tcp-down": 7e6,
    }
    assert found["tcp-down"][Metric.RETRANSMITTED].value == 4


def measured(**fields: object) -> Any:
    """What `probe` writes of a host that answers by iperf3 and by STAMP."""
    rate = Estimate(9.4e8, 1e6, 18.0)
    trip = Estimate(2e-4, 1e-6, 12.0, (), (1.9e-4, 2.2e-4))
    values = (
        Value.made("tcp-up", Metric.DATA_RATE, rate, "iperf3"),
        Value.made("round-trip", Metric.ROUND_TRIP, trip, "stamp"),
        Value.made("round-trip", Metric.ROUND_TRIP, trip.scaled(2), "iperf3"),
    )
    found = Measurement("192.0.2.7", "2026-01-01T00:00:00Z", ("stamp", "iperf3"), values)
    document = msgspec.json.decode(msgspec.json.encode(found))
    document["values"][0] |= fields
    return document


def test_a_probe_keeps_its_intervals(tmp_path: Path) -> None:
    found = read(written(tmp_path / "m.json", measured()))
    assert set(found) == {"tcp-up", "round-trip by stamp", "round-trip by iperf3"}
    assert found["tcp-up"] == {Metric.DATA_RATE: Estimate(9.4e8, 1e6, 18.0)}
    trip = found["round-trip by stamp"][Metric.ROUND_TRIP]
    assert (trip.value, trip.low, trip.high, trip.degrees) == (2e-4, 1.9e-4, 2.2e-4, 12.0)


def test_a_probe_is_compared_with_iperf3(tmp_path: Path) -> None:
    document = iperf3_udp()
    document["start"]["test_start"] = {"protocol": "TCP", "reverse": 0}
    rows = compare(written(tmp_path / "m.json", measured()), written(tmp_path / "i.json", document))
    (rate,) = [row for row in rows if row["metric"] == "data_rate"]
    assert (rate["point"]["flow"], rate["a"], rate["b"], rate["verdict"]) == (
        "tcp-up",
        9.4e8,
        8e6,
        "lower",
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"metric": "data_rat"}, r"values\[0\].metric = data_rat: did you mean data_rate"),
        ({"value": "fast"}, r"values\[0\] = Expected"),
        ({"flow": "round-trip", "metric": "round_trip"}, r"values\[2\].metric = round_trip"),
    ],
)
def test_a_probe_that_was_changed_is_refused(
    tmp_path: Path, fields: dict[str, object], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        read(written(tmp_path / "m.json", measured(**fields)))


def test_iperf3_before_3_10_sums_up_what_was_sent(tmp_path: Path) -> None:
    document = iperf3_udp()
    document["end"] = {"sum": {**document["end"]["sum_received"], "lost_percent": 25.0}}
    found = read(written(tmp_path / "old.json", document))["udp-down"]
    assert (found[Metric.DATA_RATE].value, found[Metric.LOSS].value) == (6e6, 0.25)


def test_iperf3_3_7_has_the_sums_of_both_directions_under_one_key(tmp_path: Path) -> None:
    def sums(rate_bps: float, again: int) -> str:
        return (
            f'"sum_sent": {{"bits_per_second": {rate_bps}, "retransmits": {again}}}, '
            f'"sum_received": {{"bits_per_second": {rate_bps}}}'
        )

    path = tmp_path / "bidir.json"
    start = '{"start": {"test_start": {"protocol": "TCP", "reverse": 0}}, "end": {'
    path.write_text(f"{start}{sums(9e8, 3)}, {sums(1e8, 77)}}}}}")
    found = read(path)
    assert {
        flow: (values[Metric.DATA_RATE].value, values[Metric.RETRANSMITTED].value)
        for flow, values in found.items()
    } == {"tcp-up": (9e8, 3), "tcp-down": (1e8, 77)}
    path.write_text(f'{start}{sums(9e8, 3)}}}, "end": {{}}}}')
    with pytest.raises(InputError, match="the key end is there twice"):
        read(path)


def test_the_file_of_an_iperf3_server_does_not_say_what_its_client_received(
    tmp_path: Path,
) -> None:
    start = {"connected": [{}], "test_start": {"protocol": "TCP", "reverse": 1}}
    end: dict[str, Any] = {
        "sum_sent": {"bits_per_second": 9.5e6, "retransmits": 59},
        "sum_received": {"bits_per_second": 0},
    }
    found = read(written(tmp_path / "tcp.json", {"start": start, "end": end}))
    assert list(found["tcp-down"]) == [Metric.RETRANSMITTED]
    # A client of which nothing arrived is told so.
    start["connecting_to"] = {}
    found = read(written(tmp_path / "client.json", {"start": start, "end": end}))
    assert found["tcp-down"][Metric.DATA_RATE].value == 0
    udp = {"connected": [{}], "test_start": {"protocol": "UDP", "reverse": 1}}
    path = written(tmp_path / "udp.json", {"start": udp, "end": {"sum_received": {}}})
    with pytest.raises(InputError, match="the file of a server that sent"):
        read(path)


def test_what_c_prints_for_no_number_matters_only_where_it_is_read(tmp_path: Path) -> None:
    document = iperf3_udp()
    document["intervals"][3]["sum"]["lost_percent"] = "NONE"
    path = tmp_path / "nan.json"
    path.write_text(json.dumps(document).replace('"NONE"', "-nan"))
    assert read(path)["udp-down"][Metric.LOSS].value == 0.005
    document["end"]["sum_received"]["lost_percent"] = "NONE"
    path.write_text(json.dumps(document).replace('"NONE"', "-nan"))
    with pytest.raises(InputError, match="lost_percent"):
        read(path)


def test_iperf3_event_by_event(tmp_path: Path) -> None:
    document = iperf3_udp()
    events = [
        {"event": "start", "data": document["start"]},
        *({"event": "interval", "data": each} for each in document["intervals"]),
        {"event": "end", "data": document["end"]},
    ]
    path = tmp_path / "stream.json"
    path.write_text("\n".join(map(json.dumps, events)))
    whole = read(written(tmp_path / "whole.json", document))
    assert read(path) == whole
    path.write_text("\n".join(map(json.dumps, events + events)))
    with pytest.raises(InputError, match="one test in each file"):
        read(path)
    path.write_text(2 * json.dumps(document))
    with pytest.raises(InputError, match="one test in each file"):
        read(path)


def test_flent_pings_are_those_measured_and_figures_of_sockets_are_no_rates(
    tmp_path: Path,
) -> None:
    document = {
        "x_values": [],
        "results": {
            "Ping (ms) ICMP": [5.0] * 100,
            "TCP upload": [10.0] * 50,
            "TCP upload::tcp_rtt": [106.0] * 50,
        },
        "raw_values": {"Ping (ms) ICMP": [{"t": 1.0, "val": 3.0}, {"t": 2.0, "val": 4.0}]},
    }
    found = read(written(tmp_path / "one.flent", document))
    assert set(found) == {"Ping (ms) ICMP", "TCP upload"}
    assert found["Ping (ms) ICMP"][Metric.ROUND_TRIP].value == pytest.approx(0.0035)


def test_flent(tmp_path: Path) -> None:
    pings = [None, *(float(number) for number in range(1, 101))]
    results = {
        "Ping (ms) ICMP": pings,
        "TCP upload": [10.0] * 50,
        "TCP upload avg": [1.0] * 50,
        "Ping (ms) avg": [1.0] * 50,
    }
    path = tmp_path / "rrul.flent.gz"
    path.write_bytes(gzip.compress(json.dumps({"x_values": [], "results": results}).encode()))
    found = read(path)
    assert set(found) == {"Ping (ms) ICMP", "TCP upload"}
    assert found["Ping (ms) ICMP"][Metric.ROUND_TRIP].value == pytest.approx(0.0505)
    assert found["Ping (ms) ICMP"][Metric.ROUND_TRIP_MAX].value == pytest.approx(0.1)
    assert found["TCP upload"][Metric.DATA_RATE].value == pytest.approx(10e6)


def test_sockperf(tmp_path: Path) -> None:
    rows = "".join(f"{number}, {number}.5, {number}.5001\n" for number in range(100))
    path = tmp_path / "full.csv"
    path.write_text("------\ntest was performed\n------\npacket, txTime(sec), rxTime(sec)\n" + rows)
    trips = read(path)["full"]
    assert trips[Metric.ROUND_TRIP].value == pytest.approx(1e-4)
    assert trips[Metric.ROUND_TRIP_P99].value == pytest.approx(1e-4)


def test_sockperf_has_a_table_for_each_server(tmp_path: Path) -> None:
    rule = "-" * 30 + "\n"
    head = "packet, txTime(sec), rxTime(sec), round-trip-time(usec)\n"

    def table(number: int, trip_s: float) -> str:
        rows = "".join(f"{at}, {at}.5, {at + 0.5 + trip_s}, 0\n" for at in range(50))
        title = f"sockperf: ========= Printing statistics for Server No: {number}\n"
        return f"{title}sockperf: # dropped messages = 0\n{rule}{head}{rows}{rule}"

    path = tmp_path / "full.csv"
    last = "sockperf: ========= Printing statistics for Server No: 2\nsockperf: No valid ob\n"
    path.write_text(table(0, 1e-4) + table(1, 3e-4) + last)
    found = read(path)
    assert {flow: values[Metric.ROUND_TRIP].value for flow, values in found.items()} == {
        "full server 1": pytest.approx(1e-4),
        "full server 2": pytest.approx(3e-4),
    }


def irtt() -> dict[str, Any]:
    """What `irtt client -o` writes of three packets, the last of which was lost."""
    trips: list[dict[str, Any]] = [
        {"seqno": 0, "lost": "false", "delay": {"receive": 45177, "rtt": 134460, "send": 89283}},
        {"seqno": 1, "lost": "false", "delay": {"receive": 45268, "rtt": 99455, "send": 54187}},
        {"seqno": 2, "lost": "true_up", "delay": {}},
    ]
    stats = {"packets_sent": 3, "packets_received": 2, "duplicates": 0}
    return {"version": {}, "config": {}, "stats": stats, "round_trips": trips}


def test_irtt(tmp_path: Path) -> None:
    path = tmp_path / "irtt.json.gz"
    path.write_bytes(gzip.compress(json.dumps(irtt()).encode()))
    found = read(path)["irtt"]
    assert found[Metric.ROUND_TRIP].value == pytest.approx((134460 + 99455) / 2 * 1e-9)
    assert found[Metric.ROUND_TRIP_MAX].value == pytest.approx(134460e-9)
    assert found[Metric.LOSS].value == pytest.approx(1 / 3)
    assert found[Metric.DUPLICATES].value == 0


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"stats": {}}, "stats.packets_sent"),
        ({"stats": 5}, "stats"),
        ({"stats": {**irtt()["stats"], "packets_received": 4}}, "stats.packets_received"),
        ({"round_trips": {}}, "round_trips"),
        ({"round_trips": [5]}, r"round_trips\[0\]"),
        ({"round_trips": [{"lost": False}]}, r"round_trips\[0\].delay.rtt"),
        ({"round_trips": [{"lost": False, "delay": {"rtt": -1}}]}, r"round_trips\[0\].delay.rtt"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_file_of_irtt_is_named(
    tmp_path: Path, changes: dict[str, Any], key: str
) -> None:
    with pytest.raises(InputError, match=f": {key} = "):
        read(written(tmp_path / "irtt.json", irtt() | changes))


def test_ns3(tmp_path: Path) -> None:
    path = tmp_path / "manet.csv"
    head = "SimulationSecond,ReceiveRate,PacketsReceived,NumberOfSinks,RoutingProtocol\n"
    path.write_text(head + "".join(f"{second},20.48,40,10,AODV\n" for second in range(30)))
    found = read(path)["manet"]
    assert found[Metric.DATA_RATE].value == pytest.approx(20_480)
    assert found[Metric.MESSAGE_RATE].value == pytest.approx(40)


def test_columns_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("when,delay,lost\n0,1.5,2\n1,2.5,4\n")
    columns = parse_columns("one_way_delay=delay:ms, loss=lost:%")
    found = read(path, columns)["own"]
    assert found[Metric.ONE_WAY_DELAY].value == pytest.approx(0.002)
    assert found[Metric.LOSS].value == pytest.approx(0.03)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "speed=rx",
        "data_rate",
        "data_rate=",
        "data_rate=rx:ms",
        "loss=rx:ms",
        "data_rate=rx:parsec",
    ],
)
def test_a_wrong_mapping_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="columns"):
        parse_columns(text)


def test_a_near_name_of_a_metric_is_suggested() -> None:
    with pytest.raises(InputError, match=r"did you mean data_rate\?"):
        parse_columns("data_rat=rx")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "head"),
        ("a,b\n1,2\n", "head"),
        ("txTime,rxTime\n", "at least one row"),
        ("txTime,rxTime\n2,1\n", "line 2"),
        ("txTime,rxTime\n1,x\n", "line 2"),
        ("txTime,rxTime\n1\n", "line 2"),
        ("{", "expected JSON"),
        ("{}", "iperf3"),
        ("[" * 100_000, "head"),
        ('{"a": ' * 100_000, "expected JSON"),
        ('{"end": {}, "error": "refused"}', "without an error"),
        ('{"end": {}, "start": 5}', "start"),
        ('{"end": {}, "start": {"test_start": {"protocol": "SCTP"}}}', "TCP or UDP"),
        ('{"x_values": [], "results": {"Ping": [1, -1]}}', "Ping"),
        ('{"x_values": [], "results": {"Ping": [1, true]}}', "Ping"),
        ('{"x_values": [], "results": {}}', "begin with Ping"),
        ('{"x_values": [], "results": {"Ping": [1' + "0" * 400 + "]}}", "Ping"),
        (
            '{"end": {"sum_received": {"bits_per_second": 1' + "0" * 400 + "}}, "
            '"start": {"test_start": {"protocol": "TCP"}}}',
            "bits_per_second",
        ),
        ("txTime,rxTime\n---\n", "at least one row"),
        (f"{IPERF2},0.000,0,852,0.000,0\n", "iperf 2 does not say which end wrote it"),
        (f"{IPERF2}\n", "iperf 2 does not say which end wrote it"),
        (f"{NS3}0,20,40\n{NS3}", "one table in each file"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_file_of_these_programs_is_named(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError, match=expected) as raised:
        read(path)
    assert str(path) in str(raised.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ethermeter.imports.MOST_OCTETS", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"{" + b" " * (50 << 20)))
    with pytest.raises(InputError, match="at most"):
        read(path)


def test_two_files_are_compared(tmp_path: Path) -> None:
    first = written(tmp_path / "a.json", iperf3_udp(8.0))
    second = written(tmp_path / "b.json", iperf3_udp(16.0))
    rows = {row["metric"]: row for row in compare(first, second)}
    assert rows["data_rate"]["difference"] == pytest.approx(8e6)
    assert rows["data_rate"]["verdict"] == "higher"
    assert rows["loss"]["verdict"] == "same"


def test_a_file_is_data_of_a_calibration(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", iperf3_udp())
    (datum,) = read_data([path], metrics=[Metric.DATA_RATE])
    assert (datum.metric, datum.value, datum.point) == (Metric.DATA_RATE, 8e6, {})
    assert datum.error is not None
    assert datum.error > 0.8e6 / 3 * 0.99
    with pytest.raises(InputError, match="expected values of round_trip"):
        read_data([path], metrics=[Metric.ROUND_TRIP])


def assert_read_or_refused(path: Path) -> None:
    """Reading a file gives values, or faults that name it."""
    faults = []
    try:
        read(path)
    except InputError as error:
        faults = list(error.faults)
    assert all(fault.file == str(path) for fault in faults)


KEYS = [
    "start",
    "end",
    "test_start",
    "protocol",
    "sum",
    "sum_received",
    "intervals",
    "bits_per_second",
    "bytes",
    "seconds",
    "results",
    "x_values",
    "Ping",
    "TCP",
]
values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from(["start", "end", "x_values", "results"]), values) | values)
def test_any_document_is_read_or_refused(tmp_path: Path, document: object) -> None:
    path = written(tmp_path / "fuzz.json", document)
    assert_read_or_refused(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200), st.sampled_from([b"", b"txTime,rxTime\n", b"\x1f\x8b", b"{"]))
def test_any_octets_are_read_or_refused(tmp_path: Path, octets: bytes, begin: bytes) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(begin + octets)
    assert_read_or_refused(path)


def test_a_slower_file_of_iperf3_fails_beside_a_baseline(tmp_path: Path) -> None:
    rates = (8.0, 8.004, 7.996, 8.002, 7.998, 8.001)
    first, *others = (
        written(tmp_path / f"{number}.json", iperf3_udp(rate)) for number, rate in enumerate(rates)
    )
    baseline = [word for other in others for word in ("--baseline", other)]
    for rate, code in ((7.84, 1), (8.003, 0)):
        after = written(tmp_path / "after.json", iperf3_udp(rate))
        figure = ("--figure", tmp_path / "checks.xml")
        ended = invoke("compare", first, after, *baseline, "--fail-below", "2%", *figure)
        assert ended.returncode == code, ended.stderr + ended.stdout
        suite = ElementTree.parse(tmp_path / "checks.xml").getroot()
        assert bool(suite.findall("testcase/failure")) == (code == 1)
        assert ("data_rate is worse" in ended.stdout) == (code == 1)
    lone = invoke("compare", first, after, "--fail-below", "2%")
    assert "without --baseline the spread of measurements" in " ".join(lone.stdout.split())


def test_a_run_that_was_disturbed_is_no_alarm_if_the_next_is_not(tmp_path: Path) -> None:
    rates = (8.0, 8.004, 7.996, 8.002, 7.998, 8.001)
    first, *others = (
        written(tmp_path / f"{number}.json", iperf3_udp(rate)) for number, rate in enumerate(rates)
    )
    baseline = [word for other in others for word in ("--baseline", other)]
    after = written(tmp_path / "after.json", iperf3_udp(7.5))
    for rate, code in ((8.0, 0), (7.84, 1)):
        again = ("--again", written(tmp_path / "again.json", iperf3_udp(rate)))
        ended = invoke("compare", first, after, *baseline, *again, "--fail-below", "2%")
        assert ended.returncode == code, ended.stderr + ended.stdout
    refused = invoke("compare", first, after, *again)
    assert "--again" in refused.stderr
    assert "expected with --fail-below" in refused.stderr


def test_values_that_never_differed_are_no_measure_of_chance(tmp_path: Path) -> None:
    first, *others = (written(tmp_path / f"{number}.json", iperf3_udp(8.0)) for number in range(5))
    baseline = [word for other in others for word in ("--baseline", other)]
    after = written(tmp_path / "after.json", iperf3_udp(7.0))
    ended = invoke("compare", first, after, *baseline, "--fail-below", "2%")
    assert "0 failed" not in ended.stdout
    assert "failed" not in ended.stdout
    assert "undecided" in ended.stdout


def run_of_two(folder: Path) -> Path:
    """Simulate two hosts with a flow in each direction, 1000 octets of data every millisecond."""
    flow = {"data": "1000 B", "arrivals": {"regular": "1 ms"}}
    content = {
        "title": "Both directions",
        "network": {
            "rate": "100 Mb/s",
            "hosts": [{"name": "client"}, {"name": "server"}],
            "links": [{"ends": ["client", "server"]}],
        },
        "flows": [
            {"name": "udp-up", "from": "client", "to": "server", **flow},
            {"name": "voice", "from": "server", "to": "client", **flow},
        ],
        "phases": {"transmit": "100 ms"},
        "run": {"replications": 3, "engines": ["theory", "simulation"]},
    }
    em.load(content).run(out=folder / "run")
    return folder / "run"


def iperf3_both(protocol: str) -> dict[str, Any]:
    """Text of `iperf3 --bidir --json` with 4 Mb/s in each direction."""
    rate = {"bits_per_second": 4e6}
    end = {"sum_received": rate, "sum_received_bidir_reverse": rate}
    return {"start": {"test_start": {"protocol": protocol, "reverse": 0}}, "end": end}


def test_flows_of_a_file_and_a_run_are_compared_by_name_in_both_orders(tmp_path: Path) -> None:
    file = written(tmp_path / "both.json", iperf3_both("UDP"))
    run = run_of_two(tmp_path)
    # 1000 octets of data in a millisecond are 8 Mb/s.
    for pair, values in (((run, file), (8e6, 4e6)), ((file, run), (4e6, 8e6))):
        found = matched(*pair)
        assert found.told == (
            "Flows compared by name: udp-up.",
            "Flows of both.json only, not compared: udp-down.",
            "Flows of run, simulated, only, not compared: voice.",
        )
        (row,) = [
            row
            for row in compare(*pair)
            if row["metric"] == "data_rate" and row["point"] == {"flow": "udp-up"}
        ]
        assert (row["a"], row["b"]) == pytest.approx(values, rel=0.02)
    assert found.told[0] in invoke("compare", file, run).stdout


def test_the_only_flow_of_a_file_is_compared_with_all_of_a_run(tmp_path: Path) -> None:
    file, run = written(tmp_path / "one.json", iperf3_udp()), run_of_two(tmp_path)
    found = matched(file, run)
    assert found.told == (
        "Flow udp-down of one.json is compared with all flows of run, simulated.",
    )
    assert [point.point for point in found.first.values()] == [{}]


def test_flows_without_a_common_name_are_named(tmp_path: Path) -> None:
    tcp, udp = (written(tmp_path / f"{name}.json", iperf3_both(name)) for name in ("TCP", "UDP"))
    of_run = "flows = tcp-up, tcp-down: expected one flow, or names of the run's: udp-up, voice"
    with pytest.raises(InputError, match=of_run):
        matched(tcp, run_of_two(tmp_path))
    of_file = rf"flows = udp-up, udp-down: expected a flow of {tcp}: tcp-up, tcp-down"
    with pytest.raises(InputError, match=of_file):
        matched(tcp, udp)


def test_a_series_of_probes_has_the_spread_from_one_to_the_next(tmp_path: Path) -> None:
    for name, rates in (("quiet", (9.0e8, 9.2e8, 9.4e8)), ("busy", (6.0e8, 6.2e8, 6.4e8))):
        with series.opened(tmp_path / name, {"to": "a"}, every_s=10, for_s=60) as kept:
            for slot, rate in enumerate(rates):
                kept.append(slot, measured(value=rate))
            kept.append(3, {"at": "2026-01-01T00:00:00Z", "error": "no answer"})
    found = read(tmp_path / "quiet" / series.LINES)["tcp-up"][Metric.DATA_RATE]
    # A spread of 20 Mb/s over three: 20 / sqrt(3) Mb/s, and Student's t of two degrees, 4.303.
    assert found.value == pytest.approx(9.2e8)
    assert found.half_width == pytest.approx(4.303 * 2e7 / 3**0.5, rel=1e-3)
    ended = invoke("compare", tmp_path / "quiet", tmp_path / "busy", "--json")
    (row,) = [row for row in json.loads(ended.stdout) if row["metric"] == "data_rate"]
    assert (row["point"]["flow"], row["verdict"]) == ("tcp-up", "lower")
    assert row["difference"] == pytest.approx(-3e8)


def test_a_prediction_is_compared_with_another_and_with_a_run(tmp_path: Path) -> None:
    run = run_of_two(tmp_path)
    for name, rate in (("one", 16e6), ("two", 18e6)):
        row = {"point": {}, "metric": "data_rate", "unit": "bit/s", "value": rate}
        row |= {"low": rate - 1e5, "high": rate + 2e5}
        document = {"title": "T", "draws": 40, "doubts": [], "predicted": [row]}
        (tmp_path / name).mkdir()
        written(tmp_path / name / "prediction.json", document)
    ended = invoke("compare", tmp_path / "one", tmp_path / "two", "--fail-below", "2%")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ended = invoke("compare", tmp_path / "two", tmp_path / "one", "--fail-below", "2%")
    assert ended.returncode == 1
    ended = invoke("compare", run, tmp_path / "two", "--json")
    # Two flows of 8 Mb/s.
    (row,) = [row for row in json.loads(ended.stdout) if row["metric"] == "data_rate"]
    assert (row["a"], row["verdict"]) == (pytest.approx(16e6, rel=0.02), "higher")
    told = " ".join(invoke("compare", run, tmp_path / "two").stdout.split())
    assert told.startswith("Flow all flows of two is compared with all flows of run, simulated.")
