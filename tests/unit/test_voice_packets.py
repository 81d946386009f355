"""Codecs and packets: hand calculations, what is refused, and that nothing is without a source."""

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from ethermeter import voice
from ethermeter.experiment.segment import standards
from ethermeter.voice import CODECS, ArgumentError
from ethermeter.voice.connection import QUANTITIES
from ethermeter.voice.packets import Medium

MEDIA = {name: Medium.of(name, constants) for name, constants in standards().items()}
DOCS = Path(__file__).parents[2] / "docs"
TEXT = "".join(
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("reference/e-model.md", "reference/codecs.md")
)


def test_a_g711_call_of_20_ms_packets_takes_95_200_bits_a_second_in_each_direction():
    found = voice.packets("g711", packet_s=0.02, medium=MEDIA["ieee-10"])
    # 64 kb/s for 20 ms, RTP 12, UDP 8, IPv4 20, Ethernet 14 + 4; then 8 octets of preamble and 12
    # of gap.
    assert (found.payload_octets, found.frame_octets, found.charged_bits) == (160, 218, 1904)
    assert found.packets_per_s == 50
    assert found.frame_bps == 87_200
    assert found.offered_load == pytest.approx(0.00952, rel=1e-12)
    assert (found.calls_shared, found.calls_duplex) == (52, 105)


def test_the_ipv6_header_is_20_octets_longer():
    four, six = (
        voice.packets("g729a", packet_s=0.02, medium=MEDIA["ieee-100"], ip=ip)
        for ip in ("ipv4", "ipv6")
    )
    assert (four.frame_octets, six.frame_octets) == (78, 98)
    assert four.frame_bps == 31_200


def test_short_packets_are_padded_to_the_shortest_frame():
    found = voice.packets("g729a", packet_s=[0.01, 0.02], medium=MEDIA["ieee-10"], ip="none")
    assert list(found.payload_octets) == [10, 20]
    assert list(found.frame_octets) == [64, 64]


def test_the_experimental_ethernet_adds_6_octets_and_pads_nothing():
    found = voice.packets("g711", packet_s=0.008, medium=MEDIA["experimental-3"], ip="none")
    # A sync bit before, a bit of turn-around after; a bit lasts 340 ns.
    assert (found.payload_octets, found.frame_octets, found.charged_bits) == (64, 70, 562)
    assert found.offered_load == pytest.approx(562 * 340e-9 / 0.008, rel=1e-12)


@pytest.mark.parametrize("name", MEDIA)
def test_a_medium_has_its_constants_from_the_one_place_that_has_them(name):
    medium, constants = MEDIA[name], standards()[name]
    assert medium.min_frame_octets * 8 == constants["min_frame_bits"]
    assert medium.line_rate_bps == pytest.approx(1e12 / constants["bit_ps"], rel=1e-15)
    # The longest frame is 1500 octets of data on the standards, 1024 on the experimental Ethernet.
    data = medium.max_frame_octets - medium.header_octets - medium.fcs_octets
    assert data == (1024 if name == "experimental-3" else 1500)


def test_opus_has_frames_from_2_5_to_60_ms_and_packets_up_to_120():
    lengths = [0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12]
    found = voice.packets("opus", packet_s=lengths, medium=MEDIA["ieee-10"], bit_rate_bps=32_000)
    assert list(found.payload_octets) == [10, 20, 40, 80, 160, 240, 320, 400, 480]
    with pytest.raises(ArgumentError, match="at most 120 ms"):
        voice.packets("opus", packet_s=0.14, medium=MEDIA["ieee-10"], bit_rate_bps=32_000)


@pytest.mark.parametrize(
    "codec",
    [name for name, codec in CODECS.items() if codec.bit_rates_bps[0] == codec.bit_rates_bps[1]],
)
def test_a_frame_holds_its_bits_in_whole_octets(codec):
    known = CODECS[codec]
    bits = known.bit_rates_bps[0] * known.frames_s[0]
    assert bits <= 8 * known.frame_octets < bits + 8


def test_the_delay_from_mouth_to_ear_is_the_sum_of_its_parts():
    found = voice.mouth_to_ear(
        "g723.1-6.3k", packet_s=[0.03, 0.06], network_s=0.002, jitter_buffer_s=0.04, coder_s=0.03
    )
    assert found.delay_s.tolist() == pytest.approx(
        [0.03 + 0.0075 + 0.03 + 0.002 + 0.04, 0.06 + 0.0075 + 0.03 + 0.002 + 0.04], rel=1e-12
    )
    concealed = voice.mouth_to_ear("g711-plc", packet_s=0.02, network_s=0.0, jitter_buffer_s=0.0)
    assert concealed.delay_s == pytest.approx(0.02375, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"codec": "gsm"}, 'codec = "gsm": one of g711, '),
        ({"codec": "g729a", "packet_s": 0.015}, "packet_s = 0.015: g729a: whole frames of 10 ms"),
        (
            {"codec": "opus"},
            "bit_rate_bps = not given: opus has bit rates from 6000 to 510000 bit/s",
        ),
        (
            {"codec": "opus", "bit_rate_bps": 5000},
            "bit_rate_bps = 5000: opus has from 6000 to 510000 bit/s",
        ),
        ({"bit_rate_bps": 32_000}, "bit_rate_bps = 32000: g711 has 64000 bit/s"),
        ({"ip": "ipx"}, 'ip = "ipx": one of ipv4, ipv6, none'),
        ({"packet_s": 0.5}, "packet_s = 0.5: frames of at most 1518 octets on ieee-10"),
        ({"packet_s": [0.02, float("nan")]}, "packet_s = nan: a number from 0.0001 to 1"),
        ({"packet_s": "20 ms"}, 'packet_s = "20 ms": a number from 0.0001 to 1'),
    ],
)
def test_packets_that_cannot_be_are_refused(options, said):
    given = {"codec": "g711", "packet_s": 0.02, "medium": MEDIA["ieee-10"], **options}
    with pytest.raises(ArgumentError) as error:
        voice.packets(given.pop("codec"), **given)
    assert str(error.value).startswith("packets: " + said)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: voice.e_model(-0.1, 0.0), "e-model: delay_s = -0.1: a number from 0 to 10"),
        (lambda: voice.e_model(0.1, 1.5), "e-model: loss = 1.5: a number from 0 to 1"),
        (lambda: voice.e_model(0.1, loss=True), "e-model: loss = true: a number from 0 to 1"),
        (lambda: voice.e_model([0.1, 0.2], [0.1, 0.2, 0.3]), "e-model: delay_s, loss, "),
        (
            lambda: voice.e_model(0.1, 0.0, codec="opus"),
            'e-model: codec = "opus": one that is rated, or ie and bpl of your own',
        ),
        (
            lambda: voice.e_model(0.1, 0.0, burst_ratio=0.5),
            "e-model: burst_ratio = 0.5: a number from 1 to 1000",
        ),
        (
            lambda: voice.e_model(0.1, 0.0, connection=voice.Connection(talker_echo_db=70)),
            "e-model: talker_echo_db = 70: a number from 5 to 65",
        ),
        (
            lambda: voice.e_model(0.1, 0.0, connection={}),
            "e-model: connection = dict: a Connection of send_loudness_db",
        ),
        (
            lambda: voice.largest_loss(5, delay_s=0.1),
            "largest-loss: mos = 5: a number from 1 to 4.5",
        ),
        (
            lambda: voice.largest_delay(0.5, loss=0.1),
            "largest-delay: mos = 0.5: a number from 1 to 4.5",
        ),
        (lambda: voice.rating_for(float("inf")), "rating-for: mos = inf: a number from 1 to 4.5"),
        (
            lambda: voice.cole_rosenbluth_2001(0.1, 0.1, codec="opus"),
            'cole-rosenbluth-2001: codec = "opus": ',
        ),
        (lambda: voice.mean_opinion([[1.0], [1.0, 2.0]]), "mean-opinion: r = "),
    ],
)
def test_what_the_e_model_has_no_value_for_is_named(call, said):
    with pytest.raises(ArgumentError) as error:
        call()
    assert str(error.value).startswith(said)


def test_a_codec_that_is_not_rated_takes_numbers_of_your_own():
    own = voice.e_model(0.1, 0.01, codec="opus", ie=11.0, bpl=19.0)
    assert own.r == voice.e_model(0.1, 0.01, codec="g729a").r


def test_arguments_are_left_as_they_were():
    delay_s, loss = np.array([0.1, 0.2]), np.array([[0.0], [0.1]])
    voice.e_model(delay_s, loss)
    voice.largest_loss(np.array([3.0, 4.0]), delay_s=delay_s)
    assert delay_s.tolist() == [0.1, 0.2]
    assert loss.tolist() == [[0.0], [0.1]]


def test_the_defaults_of_a_connection_are_declared_once():
    connection = voice.Connection()
    for quantity in QUANTITIES:
        assert getattr(connection, quantity.field) == quantity.default
        assert (
            quantity.default is None
            or quantity.allowed.low <= quantity.default <= quantity.allowed.high
        )
        assert f"`{quantity.field}`" in TEXT
        assert f"| {quantity.symbol} |" in TEXT


def test_the_listeners_sidetone_follows_from_the_others():
    assert (
        voice.e_model(0.0, 0.0).r
        == voice.e_model(0.0, 0.0, connection=voice.Connection(listener_sidetone_db=18.0)).r
    )


def test_every_codec_has_a_source_and_is_documented():
    for name, codec in CODECS.items():
        assert codec.name == name
        assert codec.source
        assert codec.confidence
        assert f"`{name}`" in TEXT
        assert codec.is_rated == codec.is_narrowband


def test_the_examples_of_the_room_are_true():
    for module in iter_modules(voice.__path__, "ethermeter.voice."):
        assert doctest.testmod(import_module(module.name)).failed == 0
