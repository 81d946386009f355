"""Studies: how a published study's run is presented."""

from ethermeter.presentation import Presentation
from ethermeter.studies import registry

OTHER = Presentation("", "")
"""A run that reproduces no study."""


def presentation(study: str) -> Presentation:
    """How the runs of a study are presented; `OTHER` for anything that is no study."""
    return registry.find(study).presentation if study in registry.names() else OTHER
