"""Experiment: the file in which people say what varies, what holds and what is measured.

`load` reads one, `of_text` and `of_tables` what is no file; each reports every fault at once.
`shipped` names those that come with the package; `json_schema` describes the format.
"""

from ethermeter.experiment.document import json_schema
from ethermeter.experiment.reading import Experiment, changed, load, of_tables, of_text, shipped

__all__ = ["Experiment", "changed", "json_schema", "load", "of_tables", "of_text", "shipped"]
