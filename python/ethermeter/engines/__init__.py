"""Engines: a trial in, its rows of observations out.

Nothing in here reads a run directory, analyses or reports.
"""
