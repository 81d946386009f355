"""What a person sees while something takes long."""

import re
import time

from ethermeter.cli import progress
from ethermeter.cli.progress import ActivityDisplay, ProgressDisplay
from ethermeter.execution import Progress


def test_an_activity_that_takes_long_is_named_again_and_again(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.01)
    with ActivityDisplay("small") as activity:
        for what in ("writing estimates.json", "writing report.html"):
            activity(what)
            said = ""
            while what not in said:
                said += capsys.readouterr().err
                time.sleep(0.005)
    # A line about the first may have come in the meantime.
    assert re.search(r"^small: writing report.html, \d+ s$", said, re.MULTILINE)


def test_what_is_done_at_once_says_nothing(capsys):
    with ActivityDisplay("small") as activity:
        activity("writing estimates.json")
    assert capsys.readouterr().err == ""


def test_a_line_has_the_trials_the_long_ones_and_the_time_that_is_left(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    with ProgressDisplay("small") as display:
        display(
            Progress(trials=1, done=0, share=0.25, elapsed_s=30.0, phase="trial small/00000 at 25%")
        )
    assert (
        capsys.readouterr().err
        == "small: 0 of 1 trials, trial small/00000 at 25%, 1 min 30 s left\n"
    )
