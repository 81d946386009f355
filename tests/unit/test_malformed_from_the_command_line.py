"""Every malformed experiment, as a user meets it: exit code 2, nothing on stdout, one line a fault
that begins with its file.
"""

import pytest
from program import invoke
from test_malformed import CASES, TEXTS

FILES = {name: sound.changed(changes).text() for name, (sound, changes, _) in CASES.items()}
FILES |= {name: text for name, (text, *_) in TEXTS.items()}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_malformed_file_ends_with_2_and_a_line_for_each_fault(tmp_path, command, name):
    path = tmp_path / "x.toml"
    path.write_text(FILES[name], encoding="utf-8")
    ended = invoke(command, "x.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert lines
    # A measured distribution that is missing is a fault of its own file.
    assert all(line.startswith(("x.toml: ", "no.csv: ")) for line in lines), lines
    assert "Traceback" not in ended.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"], "nothing was begun"
