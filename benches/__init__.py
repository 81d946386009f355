"""Benchmarks: how fast the simulator and a whole study are on this machine, beside peers.

`python -m benches` runs them.
"""
