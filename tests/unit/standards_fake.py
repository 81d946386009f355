"""The constants as the core gives them, for tests on a machine where it is not built."""

_DIX = {
    "bit_ps": 100_000, "slot_bits": 512, "gap_bits": 96, "gap_part1_bits": 0, "preamble_bits": 64, "jam_bits": 32,
    "min_frame_bits": 512, "max_frame_bits": 12_144, "fcs_bits": 32, "max_round_trip_bits": 464,
    "attempt_limit": 16, "backoff_limit": 10, "max_stations": 1024, "sources": {},
}  # fmt: skip

STANDARDS = {
    "dix-10": _DIX,
    "ieee-10": {**_DIX, "gap_part1_bits": 64, "max_round_trip_bits": 511},
    "ieee-100": {**_DIX, "bit_ps": 10_000, "gap_part1_bits": 64, "max_round_trip_bits": 512},
    "experimental-3": {
        **_DIX, "bit_ps": 340_000, "slot_bits": 112, "gap_bits": 1, "preamble_bits": 1, "jam_bits": 8, "min_frame_bits": 48,
        "max_frame_bits": 8240, "fcs_bits": 16, "max_round_trip_bits": 47, "backoff_limit": 8, "max_stations": 256,
    },
}  # fmt: skip
