"""BibTeX of the sources of models, in the page of models."""

import re

import pytest
from ethermeter.theory.catalogue import models

from scripts.reference import bibtex

ENTRY = """\
@article{metcalfe1976,
  author = {R. M. Metcalfe and D. R. Boggs},
  title = {{Ethernet: distributed packet switching for local computer networks}},
  journal = {CACM},
  volume = {19},
  number = {7},
  year = {1976},
}
"""
KINDS = {
    "V. Jacobson, TCP extensions, RFC 1323, 1992, section 1.1": "techreport",
    "L. Kleinrock, Queueing Systems I, 1975, eq. 3.43": "book",
    "D. Gross, J. F. Shortle, Queueing, 4th edition, 2008": "book",
    "O. J. Boxma, Two queues, in: Applications, North-Holland 1988; solved here": "incollection",
    "G. T. Almes, The behaviour, 7th SOSP, 1979": "inproceedings",
    "M. Boyer, W. Mangoua Sofack, Round robin, VALUETOOLS 2012, theorem 1": "inproceedings",
    "J. F. C. Kingman, Inequalities, part I, Biometrika 49, 1962": "article",
    "IEEE Std 802.3cg-2019, clause 148: beacon_timer": "misc",
}


def test_an_article_has_its_fields_and_no_section():
    (source,) = {each.source for each in models().values() if "Metcalfe" in each.source}
    assert "section 6" in source
    assert bibtex.entries([source, source]) == ENTRY


@pytest.mark.parametrize("source", KINDS)
def test_a_source_has_the_kind_of_its_publication(source):
    assert bibtex.entries([source]).startswith(f"@{KINDS[source]}{{")


def test_every_author_and_year_of_a_model_is_in_an_entry_and_keys_differ():
    text = bibtex.entries(each.source for each in models().values())
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) > 20
    assert text.count("{") == text.count("}")
    for model in models().values():
        assert str(model.year) in text
        assert model.source.split(",")[0] in text
    # Nothing that a reader would take for a publication has fallen among the rest.
    assert [key for key in keys if f"@misc{{{key}," in text] == ["ieee2019"]
