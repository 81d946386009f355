"""Benchmark suites: the tests of RFC 2544, 2889, 3918 and 6349 and of ITU-T Y.1564.

A test is a function that asks for trials, one after the other or several at once, and returns a
table (`steps`). `bench` makes the trials of a device between testers, `outcome` counts what they
did to frames, `searches` finds rates, and each suite is one file.
"""

from ethermeter.benchmark.bench import Bench, Settings, network_of
from ethermeter.benchmark.steps import Step, Suite
from ethermeter.benchmark.suites import SUITES, load

__all__ = ["SUITES", "Bench", "Settings", "Step", "Suite", "load", "network_of"]
