"""What the five studies left open: each question has a command of the program, or a file."""

import pytest
from documents import ROOT
from ethermeter.studies import registry
from shown_commands import parsed, unshipped

STUDIES = ("boggs1988", "gonsalves1982", "erg", "hughesjones2000", "fritz1999")
QUESTIONS = [(name, each) for name in STUDIES for each in registry.find(name).left_open()]


@pytest.mark.parametrize(
    ("study", "question"), QUESTIONS, ids=[f"{name}: {each.what}" for name, each in QUESTIONS]
)
def test_a_question_has_a_command_that_is_accepted_or_a_file(study, question):
    assert all((question.where, question.what, question.now))
    if question.by.startswith("ethermeter "):
        assert parsed(question.by).params is not None
        assert unshipped(question.by) == []
    else:
        assert (ROOT / question.by).is_file()


@pytest.mark.parametrize("study", ["erg", "fritz1999"])
def test_a_study_of_hosts_has_questions(study):
    assert registry.find(study).left_open()
