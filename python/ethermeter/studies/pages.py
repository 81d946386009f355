"""Pages: the reports of runs, with the sections of the study that a run reproduces or measured."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ethermeter import report
from ethermeter.analysis import claims
from ethermeter.document import NO_STUDY, Section, StudyPage
from ethermeter.store import RunDirectory
from ethermeter.studies import registry


def write_report(run_dir: Path) -> Path:
    """Write `report.html` of a finished run into its directory; the path of the file.

    Raises
    ------
    InputError
        If a file of the run is not what it should be.
    """
    return report.write(run_dir, study_page(run_dir))


def study_page(run_dir: Path) -> StudyPage:
    """Return what studies add to the page of a run; nothing if it is a run of none."""
    presentation = NO_STUDY
    sections: list[Section] = []
    measured: list[Section] = []
    found = claims.read(run_dir)
    if found is not None and found[0] in registry.names():
        study, judged = found
        presentation = registry.find(study).presentation
        module = _sections(study)
        sections = module.build(run_dir, judged) if module is not None else []
    found = claims.read(run_dir, claims.LIVE_FILE)
    if found is not None:
        module = _sections(found[0])
        measured = [module.measured(found[1])] if module is not None else []
    live = str(RunDirectory(run_dir).provenance().get("live_study", ""))
    return StudyPage(
        presentation=presentation,
        sections=sections,
        live=registry.find(live).presentation if live in registry.names() else None,
        measured=measured,
    )


def _sections(study: str) -> ModuleType | None:
    """Return the module `sections` of a study's folder; None if it has none.

    It has `build(run_dir, claims)` and, for a study with live tests, `measured(claims)`.
    """
    name = f"{registry.find(study).package}.sections"
    return import_module(name) if find_spec(name) is not None else None
