"""Analysis: from observations to estimates, each with its 95% interval.

Everything here is a pure function of arrays and tables, except `estimates.write` and
`estimates.read`, the two doors to a run directory.
"""
