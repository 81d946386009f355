"""Results: what was found in trials, in memory or in a run directory; the only query of it."""
