"""Emulated segments beside simulated ones: the same experiment file measured and simulated.

`python -m benches.emulation` measures and compares; needs root and an idle machine of two
processors.
"""
