"""Sections of a run's report.

`build(data)` returns a section, or None if the data hold nothing of it. Files of `…_blocks`
functions hold what is within a series.
"""
