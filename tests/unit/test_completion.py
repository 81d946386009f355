"""Shell completion, as the scripts of bash, zsh and fish ask for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from ethermeter.experiment import shipped
from ethermeter.metrics import Metric
from ethermeter.models.catalogue import models
from ethermeter.studies import registry
from program import invoke

PROGRAM = "import sys; sys.argv[0] = 'ethermeter'; from ethermeter.cli import main; main()"


def complete(shell: str, line: str, folder: Path) -> list[str]:
    """What a shell offers behind a command line."""
    words = line.split(" ")
    asked = {
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
        "_ETHERMETER_COMPLETE": f"{shell}_complete",
    }
    with mock.patch.dict(os.environ, asked):
        done = invoke(cwd=folder)
    assert done.stderr == ""
    return [line.removeprefix("plain,") for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ethermeter re", ["report", "reflector"]),
        ("ethermeter mod", ["model"]),
        ("ethermeter run office --fo", ["--force"]),
        ("ethermeter run poisson-l", ["poisson-load"]),
        ("ethermeter validate --models offi", ["office"]),
        ("ethermeter validate office poisson-l", ["poisson-load"]),
        ("ethermeter model lam", ["lam-1980"]),
        ("ethermeter model lam-1980 arr", ["arrival_rate="]),
        ("ethermeter model lam-1980 lengths=f", ["lengths=fixed"]),
        ("ethermeter model emodel TE", ["TELR="]),
        ("ethermeter report runs/x --metric util", ["utilisation", "utilisation_sd_over_mean"]),
        ("ethermeter run office --set network.cl", ["network.classes="]),
        ("ethermeter validate office --set network.cl", ["network.classes="]),
        ("ethermeter experiments --copy offi", ["office"]),
        (
            "ethermeter run --jobs 2 office --set flows.call.fr",
            ["flows.call.from=", "flows.call.frames="],
        ),
        (
            "ethermeter run poisson-load --set stations.fram",
            ["stations.frames=", "stations.frames_include_fcs="],
        ),
        (
            "ethermeter find value office --largest flows.backup.arr",
            ["flows.backup.arrivals.token_bucket.rate"],
        ),
        ("ethermeter find value office --engine theory/queu", ["theory/queueing"]),
        ("ethermeter find calls codec=g729", ["codec=g729", "codec=g729a"]),
        ("ethermeter find calls iee", ["ieee-10", "ieee-100"]),
        ("ethermeter find calls office dela", ["delay="]),
        ("ethermeter find calls ieee-10 pattern=p", ["pattern=p59"]),
        ("ethermeter find calls office from=ph", ["from=phone"]),
        ("ethermeter measure wire-live at=s", ["at=sender", "at=sink"]),
        ("ethermeter study hugh", ["hughesjones2000"]),
        ("ethermeter find benchmark rfc25", ["rfc2544"]),
        ("ethermeter find bottleneck wi", ["wire"]),
        ("ethermeter model codecs codec=g729", ["codec=g729", "codec=g729a"]),
        ("ethermeter model codecs codec=opus,g729", ["codec=opus,g729", "codec=opus,g729a"]),
    ],
)
def test_bash_offers_the_names_that_fit(line, expected, tmp_path):
    offered = complete("bash", line, tmp_path)
    assert set(expected) <= set(offered)
    begin = line.rpartition(" ")[2]
    assert all(name.startswith(begin) for name in offered)


def test_everything_with_a_name_is_offered(tmp_path):
    assert set(shipped()) <= set(complete("bash", "ethermeter run ", tmp_path))
    studies = complete("bash", "ethermeter study ", tmp_path)
    assert studies == [*registry.names(), "all"]
    assert complete("bash", "ethermeter report x -m ", tmp_path) == [str(each) for each in Metric]
    assert complete("bash", "ethermeter model ", tmp_path) == list(models())


def test_files_and_runs_are_offered_where_they_are(tmp_path):
    (tmp_path / "mine.toml").write_text('title = "My own"\n')
    (tmp_path / "runs" / "mine-0123").mkdir(parents=True)
    (tmp_path / "runs" / "mine-0123" / "plan.jsonl").write_text("")
    assert complete("bash", "ethermeter run mi", tmp_path) == ["mine.toml"]
    assert complete("fish", "ethermeter run mi", tmp_path) == ["mine.toml\tMy own"]
    assert complete("bash", "ethermeter report runs/m", tmp_path) == ["runs/mine-0123"]


def test_rows_of_message_tables_are_offered_by_their_names(tmp_path):
    (tmp_path / "m.csv").write_text("name,from,to,size,period\nm,a,b,64 B,1 ms\n")
    (tmp_path / "x.toml").write_text('title = "t"\nflows = "m.csv"\n')
    found = complete("bash", "ethermeter run x.toml --set flows.m.fro", tmp_path)
    assert found == ["flows.m.from="]


def test_former_names_offer_nothing_and_no_error(tmp_path):
    assert complete("bash", "ethermeter theory sho", tmp_path) == []
    assert complete("bash", "ethermeter run office --seed 3 --fo", tmp_path) == ["--force"]


def test_a_file_that_cannot_be_read_offers_no_keys_and_no_error(tmp_path):
    (tmp_path / "broken.toml").write_text("[")
    assert complete("bash", "ethermeter run broken.toml --set net", tmp_path) == []
    assert complete("bash", "ethermeter run nothing --set net", tmp_path) == []


def test_fish_and_zsh_say_what_each_name_is(tmp_path):
    (line,) = complete("fish", "ethermeter find cal", tmp_path)
    assert line == "calls\tFind how many calls fit with a given quality."
    kind, name, about = complete("zsh", "ethermeter study bog", tmp_path)
    assert (kind, name) == ("plain", "boggs1988")
    assert about == registry.find("boggs1988").presentation.title
    offered = complete("fish", "ethermeter run office --set network.cl", tmp_path)
    assert offered == ["network.classes=\tnow 1", "network.clocks=\tnot set"]


def test_the_script_that_bash_runs_offers_the_same(tmp_path):
    """Bash itself, with the script that `--show-completion` prints."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("no bash here")
    program = tmp_path / "ethermeter"
    program.write_text(f'#!{bash}\nexec {sys.executable} -c "{PROGRAM}" "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SHELL": bash,
    }
    script = subprocess.run(
        [str(program), "--show-completion"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "complete -o nosort -F" in script
    ask = (
        f"{script}\nCOMP_WORDS=(ethermeter run poisson-l) COMP_CWORD=2\n"
        "_ethermeter_completion ethermeter\nprintf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        [bash, "--norc", "-c", ask], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["poisson-load"]


def test_the_help_of_a_group_loads_no_command():
    code = (
        "import sys\nfrom ethermeter.cli.app import app\ntry: app(['--help'])\n"
        "except SystemExit: print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stderr.split()
    ours = {name for name in loaded if name.startswith("ethermeter.")}
    assert ours == {
        "ethermeter.cli",
        "ethermeter.cli.app",
        "ethermeter.cli.former",
        "ethermeter.cli.guard",
        "ethermeter.cli.help",
        "ethermeter.cli.memory",
        "ethermeter.cli.shells",
    }
