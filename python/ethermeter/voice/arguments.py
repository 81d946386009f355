"""What the functions of this room take: the ranges of their arguments."""

from ethermeter.arguments import Range

DELAY_S = Range(0, 10)
"""Delays that are computed with; those beyond the recommendation's 0.5 s are outside its range."""
SHARE = Range(0, 1)
BURST_RATIO = Range(1, 1000)
IMPAIRMENT = Range(0, 95)
ROBUSTNESS = Range(0.01, 1000)
ADVANTAGE = Range(0, 20)
RATING = Range(-1000, 1000)
MOS = Range(1, 4.5)
BASE = Range(0, 100)
PACKET_S = Range(1e-4, 1)
BIT_RATE_BPS = Range(1, 1e12)
TALK_S = Range(1e-6, 1e6)
LISTEN_S = Range(0, 1e6)
ACTIVITY = Range(0, 1)
TALKERS = Range(0, 10_000, whole=True)
CIRCUITS = Range(0, 10_000, whole=True)
SOME_CIRCUITS = Range(1, 10_000, whole=True)
ERLANGS = Range(0, 1e9)
PROBABILITY = Range(1e-12, 1 - 1e-9)
BLOCKING = Range(1e-12, 0.999)
"""Beyond, a logarithm near 0 no longer determines the load."""
