"""Sections of a run's report, one file each.

`build(data)` returns a section, `applies(data)` whether the data hold what it shows; sections
without `applies` are always there. Files of `…_blocks` functions hold what is within a series.
"""
