"""Presentation: what a study says about the page of its runs."""

from dataclasses import dataclass

from ethermeter.metrics import Metric


@dataclass(frozen=True, slots=True)
class Presentation:
    """Title of a study's page, how its claims are read (HTML), and the graphs of its series.

    Parameters
    ----------
    title
        What was published, by whom, and, after the last comma, how it is answered.
    question
        What the study asks, as a sentence.
    lead
        How the claims are judged; HTML.
    graphs
        Metrics drawn of each series; None for the usual ones.
    against_hosts
        Whether its figures are against the number of hosts; a series that is not stands apart.
    compared
        Metrics drawn of a series whose stations are shown by position; None for the usual ones.
    has_details
        Whether series have distributions of delay and channel time.
    detailed
        With `has_details`, the only series that have them; None for all.
    detail_curves
        Values of the curves whose distributions are shown, where there are any; all if empty.
    table_only
        Series drawn in sections of the study, which have their table of estimates only.
    omitted
        Series drawn in sections of the study, which have no section of their own.

    """

    title: str = ""
    question: str = ""
    lead: str = ""
    graphs: tuple[Metric, ...] | None = None
    against_hosts: bool = False
    compared: tuple[Metric, ...] | None = None
    has_details: bool = True
    detailed: tuple[str, ...] | None = None
    detail_curves: tuple[str, ...] = ()
    table_only: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    @property
    def published(self) -> str:
        """What was published and by whom: the title without how it is answered."""
        return self.title.rpartition(",")[0] or self.title
