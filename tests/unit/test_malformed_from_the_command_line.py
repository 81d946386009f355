"""Every malformed file, as a user meets it: exit code 2, nothing on stdout, one line a fault that
begins with its file.
"""

import pytest
import test_malformed
import test_malformed_segment
import test_malformed_stations
import test_malformed_voice
from program import invoke

FILES = {
    f"{module.__name__}: {name}": text
    for module in (
        test_malformed,
        test_malformed_segment,
        test_malformed_stations,
        test_malformed_voice,
    )
    for name, (text, *_) in module.MALFORMED.items()
}


def test_there_are_more_than_enough_of_them():
    assert len(FILES) >= 60


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_malformed_file_ends_with_2_and_a_line_for_each_fault(tmp_path, command, text):
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    ended = invoke(command, "x.toml", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert lines
    # A measured distribution that is missing is a fault of its own file.
    assert all(line.startswith(("x.toml: ", "no.csv: ")) for line in lines), lines
    assert "Traceback" not in ended.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"], "nothing was begun"
