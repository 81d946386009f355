"""Bottleneck searches as recorded runs."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from ethermeter.bottleneck import Document, Transfers, make_bench
from ethermeter.bottleneck.trials import Bench
from ethermeter.run import Progress, RunOptions, search
from ethermeter.strategies.bottleneck import Answer, BottleneckSearch


def search_bottleneck(
    document: Document,
    directory: Path,
    make: Callable[[], AbstractContextManager[Bench]] = make_bench,
    *,
    seed: int | None = None,
    repetitions: int | None = None,
    resume: bool = False,
    follow: Callable[[Progress], None] | None = None,
) -> Answer:
    """Return the answer of a search that is recorded in a directory."""
    strategy = BottleneckSearch(document, seed=seed, repetitions=repetitions)
    with Transfers(make) as place:
        run = search(
            strategy,
            directory=directory,
            options=RunOptions(jobs=1, resume=resume),
            follow=follow,
            place=place,
        )
    return msgspec.json.decode(run.answer(), type=Answer)
