"""Sections of a run's report, one file each.

`applies(data)` says whether the data hold what a section shows, `build(data)` returns it; sections
without `applies` are always there. Files of `…_blocks` functions hold what is within a series.
"""
