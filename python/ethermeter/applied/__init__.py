"""Theory applied: an experiment's point as a model's parameters, whether the model applies, and
what it predicts.

`words` has the names; `situation` reads a scenario; `differences` says what a model assumes that is
not so there; `models` has an entry for each model; `choice` puts them together. Nothing in here
simulates.
"""
