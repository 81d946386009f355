"""Malformed segments and positions: each fault has its key and says what is allowed."""

import pytest
from faults_at import expect_fault
from files import CLUSTERS, HEAD, SEGMENT, STATIONS, VALID, host, segment

MALFORMED = {
    # the segment's constants
    "no standard": (
        HEAD + '[segment]\nlength = "1 m"\n' + STATIONS,
        "segment.standard",
        "required",
    ),
    "unknown standard": (
        HEAD + '[segment]\nstandard = "token"\nlength = "1 m"\n' + STATIONS,
        "segment.standard",
        "dix-10, ieee-10",
    ),
    "rate without unit": (
        segment('length = "1 m"\nrate = 10'),
        "segment.rate",
        "the unit is missing",
    ),
    "rate of fractional bits": (
        segment('length = "1 m"\nrate = "3 Mb/s"'),
        "segment.rate",
        "whole number of picoseconds",
    ),
    "rate as bytes": (segment('length = "1 m"\nrate = "1 MB"'), "segment.rate", "not a size"),
    "slot zero": (segment('length = "1 m"\nslot = "0 bit"'), "segment.slot", "from 1 to"),
    "slot a length": (segment('length = "1 m"\nslot = "5 m"'), "segment.slot", "not a length"),
    "gap of fractional bits": (
        segment('length = "1 m"\ngap = "9.65 us"'),
        "segment.gap",
        "whole number of bits",
    ),
    "gap below its first part": (
        segment('length = "1 m"\ngap = "32 bit"'),
        "segment.gap",
        "at most gap",
    ),
    "first part above the gap": (
        segment('length = "1 m"\ngap_part1 = "97 bit"'),
        "segment.gap_part1",
        "at most gap",
    ),
    "jam negative": (segment('length = "1 m"\njam = "-32 bit"'), "segment.jam", "expected"),
    "preamble a number": (
        segment('length = "1 m"\npreamble = 64'),
        "segment.preamble",
        "a size such as",
    ),
    "gap of nothing": (segment('length = "1 m"\ngap = "0 bit"'), "segment.gap", "from 1 to"),
    "jam too long": (
        segment('length = "1 m"\njam = "10 MB"'),
        "segment.jam",
        "from 1 to 16777216 bit",
    ),
    # the topology
    "tap of a second": (
        segment('length = "1 m"\ntap_delay = "1 s"'),
        "segment.tap_delay",
        "at most 0.1 s",
    ),
    "no topology": (segment(""), "segment", "exactly one of length, round_trip, star, delays"),
    "two topologies": (segment('length = "1 m"\nround_trip = "1 us"'), "segment", "exactly one of"),
    "length in seconds": (segment('length = "1 s"'), "segment.length", "not a time"),
    "length not a number": (segment('length = "nan m"'), "segment.length", "a length such as"),
    "velocity above light": (
        segment('length = "1 m"\nvelocity = 1.5'),
        "segment.velocity",
        "from 0.01 to 1",
    ),
    "velocity not a number": (
        segment('length = "1 m"\nvelocity = nan'),
        "segment.velocity",
        "from 0.01 to 1",
    ),
    "velocity with a time": (
        segment('round_trip = "1 us"\nvelocity = 0.7'),
        "segment.velocity",
        "not allowed with round_trip",
    ),
    "round trip odd": (
        segment('round_trip = "3 ps"'),
        "segment.round_trip",
        "even number of picoseconds",
    ),
    "taps longer than the round trip": (
        segment('round_trip = "4 us"\ntap_delay = "1.1 us"'),
        "segment.tap_delay",
        "at most a quarter",
    ),
    "taps of one cluster": (
        segment('round_trip = "4 us"\nclusters = 1\ntap_delay = "0.9 us"'),
        "segment.tap_delay",
        "a quarter",
    ),
    "one cluster not in quarters": (
        segment('round_trip = "6 ps"\nclusters = 1'),
        "segment.round_trip",
        "multiple of 4 ps",
    ),
    "clusters zero": (
        segment('round_trip = "1 us"\nclusters = 0'),
        "segment.clusters",
        "at least 1",
    ),
    "clusters of a star": (
        segment('star = { radius = "1 m", repeater_delay = "1 us" }\nclusters = 2'),
        "segment.clusters",
        "not allowed with star",
    ),
    "star without repeater": (
        segment('star = { radius = "1 m" }'),
        "segment.star.repeater_delay",
        "required",
    ),
    "star without radius": (
        segment('star = { repeater_delay = "1 us" }'),
        "segment.star",
        "exactly one of radius and radii",
    ),
    "star with both": (
        segment('star = { radius = "1 m", radii = ["1 m"], repeater_delay = "1 us" }'),
        "segment.star",
        "exactly one of",
    ),
    "delays not square": (
        segment('delays = [["0 s", "1 us"], ["1 us"]]'),
        "segment.delays.1",
        "square",
    ),
    "delays not symmetric": (
        segment('delays = [["0 s", "1 us"], ["2 us", "0 s"]]'),
        "segment.delays.1.0",
        "equally long both ways",
    ),
    "delays with a detour": (
        segment('delays = [["0 s","9 us","1 us"],["9 us","0 s","1 us"],["1 us","1 us","0 s"]]'),
        "segment.delays.0.1",
        "triangle inequality",
    ),
    "delays with a wide place": (
        HEAD
        + '[segment]\nstandard = "ieee-10"\ndelays = [["9 us","1 us"],["1 us","0 s"]]\n'
        + STATIONS.replace("count = 2", "count = 3"),
        "segment.delays.0.0",
        "triangle inequality",
    ),
    "delays empty": (segment("delays = []"), "segment.delays", "at least 1 of them"),
    # where stations are
    "position beyond the cable": (
        host('position = "101 m"'),
        "stations.0.position",
        "up to the segment's length, 100 m",
    ),
    "positions too few": (
        host('positions = ["1 m"]'),
        "stations.0.positions",
        "one position for each of the 2",
    ),
    "position without a length": (
        host('position = "1 m"', segment_text=CLUSTERS),
        "stations.0.position",
        "not allowed without segment.length",
    ),
    "position and positions": (
        host('position = "1 m"\npositions = ["1 m", "2 m"]'),
        "stations.0",
        "at most one of",
    ),
    "position among clusters": (
        host('position = "1 m"', segment_text=SEGMENT + "clusters = 2\n"),
        "stations.0.position",
        "use cluster",
    ),
    "cluster beyond": (
        host("cluster = 2", segment_text=CLUSTERS),
        "stations.0.cluster",
        "from 0 to 1",
    ),
    "cluster without clusters": (
        host("cluster = 0"),
        "stations.0.cluster",
        "not allowed without segment.clusters",
    ),
    "per_cluster of other length": (
        host("per_cluster = [2]", segment_text=CLUSTERS),
        "stations.0.per_cluster",
        "each of the 2 clusters",
    ),
    "per_cluster of other sum": (
        host("per_cluster = [2, 1]", segment_text=CLUSTERS),
        "stations.0.per_cluster",
        "add up to count, 2",
    ),
    "too many stations": (
        VALID + STATIONS.replace("count = 2", "count = 1024").replace("host", "more"),
        "stations.1.count",
        "at most 1024",
    ),
    "too many for the standard": (
        HEAD
        + '[segment]\nstandard = "experimental-3"\nlength = "1 m"\n'
        + STATIONS.replace("2", "257", 1),
        "stations.0.count",
        "at most 256",
    ),
}


@pytest.mark.parametrize(("text", "key", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_refused_with_key_and_what_was_allowed(tmp_path, text, key, allowed):
    expect_fault(tmp_path, text, key=key, allowed=allowed)
