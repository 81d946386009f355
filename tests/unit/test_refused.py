"""Command lines that are refused end with 2 and a line that says what is wrong."""

import shlex
import tomllib
from pathlib import Path

import pytest
from program import invoke
from test_calls_in_networks import NETWORK
from test_search import LINK

FILES = {"calls": NETWORK, "search": LINK}
DATA = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))
CASES = [(of, line, said) for of, lines in DATA.items() for line, said in lines.items()]


@pytest.mark.parametrize(("of", "line", "said"), CASES, ids=[line[:60] for _, line, _ in CASES])
def test_what_cannot_be_done_is_refused_in_a_line_that_names_it(tmp_path, of, line, said):
    file = FILES[of].save(tmp_path / "file.toml") if of in FILES else ""
    words = [word.replace("$FILE", str(file)) for word in shlex.split(line)]
    ended = invoke(*words, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    shown = " ".join(ended.stderr.split())
    for text in [said] if isinstance(said, str) else said:
        assert text.replace("$FILE", str(file)) in shown
    assert "Traceback" not in shown
    assert "internal" not in shown
