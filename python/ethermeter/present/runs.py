"""What a run is: how many trials, where it is, and the files that were derived from it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ethermeter.blocks import Text
from ethermeter.faults import counted

if TYPE_CHECKING:
    from ethermeter.api.runs import Run


def files(run: "Run") -> Iterator[Text]:
    """Yield where a run is, how many of its trials failed, and its report."""
    from ethermeter.analysis import failures

    provenance = run.directory.provenance()
    wall_s = provenance.get("wall_s")
    yield Text(
        counted(int(str(provenance["trials"])), "trial")
        + (f" in {wall_s:.1f} s" if isinstance(wall_s, float) else "")
        + f": {run.path}"
    )
    if (failed := failures.of_run(provenance)) is not None:
        yield Text(failed)
    if (report := run.files.get("report")) is not None:
        yield Text(f"report: {report}")
