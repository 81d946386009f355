"""What flows counted in a whole measured window."""

from dataclasses import replace

from ethermeter.metrics.slices import Slice


def together(by_batch: Slice) -> Slice:
    """Sum all batches; there is one of them then."""
    counters = {name: of.sum(axis=1, keepdims=True) for name, of in by_batch.counters.items()}
    kept = {name: of for name, of in by_batch.counters.items() if of.shape[1] == 1}
    return replace(by_batch, counters={**counters, **kept}, counted_ps=by_batch.window_ps)
