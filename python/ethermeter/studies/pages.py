"""Pages: the reports of runs, with the sections of the study that a run reproduces or measured."""

from collections.abc import Sequence
from pathlib import Path

from ethermeter import report
from ethermeter.analysis import claims
from ethermeter.document import NO_STUDY, Section, StudyPage, Table
from ethermeter.presentation import Presentation
from ethermeter.report.tables import code
from ethermeter.results.query import Results
from ethermeter.store import RunDirectory
from ethermeter.studies import registry
from ethermeter.studies.judging import OpenQuestion
from ethermeter.trial import SIMULATION


def write_report(run_dir: Path) -> Path:
    """Write `report.html` of a finished run into its directory; the path of the file.

    Raises InputError if a file of the run is not what it should be.
    """
    return report.write(run_dir, study_page(run_dir))


def study_page(run_dir: Path) -> StudyPage:
    """Return what studies add to the page of a run; nothing if it is a run of none."""
    presentation, live = NO_STUDY, None
    sections: list[Section] = []
    measured: list[Section] = []
    found = claims.read(run_dir)
    if found is not None and found[0] in registry.names():
        study = registry.find(found[0])
        presentation = study.presentation
        if study.sections is not None:
            results = Results.of_run(run_dir).by(SIMULATION, least=study.least)
            sections = study.sections(results, found[1])
        sections += _left_open(study.left_open())
    found = claims.read(run_dir, claims.LIVE_FILE)
    if found is not None:
        section = registry.find(found[0]).measured_section
        measured = [section(found[1])] if section is not None else []
    name = str(RunDirectory(run_dir).provenance().get("live_study", ""))
    if name in registry.names():
        live = registry.find(name).presentation
        if presentation == NO_STUDY:
            # Media have the graphs of the study; all else is that of any measured run.
            presentation = Presentation(graphs=live.graphs, compared=live.graphs)
    return StudyPage(presentation=presentation, sections=sections, live=live, measured=measured)


def _left_open(questions: Sequence[OpenQuestion]) -> list[Section]:
    """Tabulate what the text leaves open; no section without a question."""
    if not questions:
        return []
    title = "What the text left open, and what follows now"
    rows = [[each.where, each.what, each.now, code(each.by)] for each in questions]
    table = Table(("Place", "Left open", "What follows now", "By"), rows, title, "prose")
    return [Section("left-open", "Left open", title, [table])]
