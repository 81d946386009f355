"""The documentation against the program: commands, options, names of experiments, metrics and
cautions, links, and TOML in it.
"""

import ast
import os
import re
import tomllib
from pathlib import Path

import documents
import ethermeter as em
import pytest
from documents import ROOT, blocks, prose
from documents import parsed as parsed_blocks
from ethermeter import captures
from ethermeter.experiment import load, shipped
from ethermeter.experiment.flows import Flow
from ethermeter.experiment.tables import keys_of, table_reader
from ethermeter.metrics import Caution, EntityKind, Metric
from shown_commands import COMMANDS, OPTIONS, parsed, unshipped

from scripts import reference
from scripts.reference import errors
from scripts.reference.error_topics import TOPICS, section_of
from scripts.reference.metrics import TITLES

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "evidence").glob("*.md")),
    ]
}
PAGES |= {f"docs/{path}": page() for path, page in reference.PAGES.items()}
FILES = {f"docs/{path}" for path in reference.FILES}
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def command_lines() -> list[tuple[str, str]]:
    found = []
    for page, text in PAGES.items():
        for block in (*blocks(text, "sh"), *blocks(text, "text")):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                if line.removeprefix("$ ").startswith("ethermeter "):
                    found.append((page, line.removeprefix("$ ")))
    for names, command in COMMANDS.items():
        for line in (command.epilog or "").splitlines():
            if line.strip().startswith("ethermeter "):
                found.append((f"{' '.join(names)} --help", line.strip()))
    return found


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_every_command_that_is_shown_is_one_that_the_program_takes(page, line):
    context = parsed(line)
    assert context.params is not None, page


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_every_experiment_in_a_command_is_shipped_or_somebodys_file(page, line):
    assert unshipped(line) == [], page


def test_every_command_has_examples():
    assert [
        " ".join(names)
        for names, command in COMMANDS.items()
        if "ethermeter" not in (command.epilog or "")
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_in_a_sentence_exists(page):
    wrong = []
    for code in INLINE.findall(prose(PAGES[page])):
        if re.match(r"ethermeter [a-z]", code):
            words = code.replace("…", " ").split()[1:]
            if (
                words[0] in {names[0] for names in COMMANDS}
                and len(words) > 1
                and (words[0],) not in COMMANDS
            ):
                known = tuple(words[:2]) in COMMANDS
            else:
                known = (words[0],) in COMMANDS or words[0] in {names[0] for names in COMMANDS}
            if not known:
                wrong.append(code)
                continue
            options = [word.partition("=")[0] for word in words if word.startswith("--")]
            several = [command for names, command in COMMANDS.items() if names[0] == words[0]]
            there = {
                option
                for command in several
                for parameter in command.params
                for option in parameter.opts
            } | {"--help"}
            wrong += [f"{code}: {option}" for option in options if option not in there]
        elif re.match(r"--[a-z]", code) and page not in OTHER_PROGRAMS:
            option = re.split(r"[ =]", code)[0]
            if option not in OPTIONS | AGENT_OPTIONS:
                wrong.append(code)
    assert wrong == []


OTHER_PROGRAMS = {
    "evidence/speed.md",
    "evidence/speed-beside-peers.md",
    "evidence/speed-of-runs.md",
    "evidence/emulation.md",
}
"""Pages whose options are of `python -m benches`."""
AGENT_OPTIONS = {
    option
    for path in (ROOT / "crates" / "agent" / "src").rglob("*.rs")
    for option in re.findall(r"--[a-z][a-z-]+", path.read_text(encoding="utf-8"))
}
"""Of the agent's own binary."""


def test_every_option_of_the_agents_commands_is_one_that_it_knows():
    lines = [
        line
        for text in PAGES.values()
        for block in blocks(text, "sh")
        for line in block.splitlines()
    ]
    shown = {
        option
        for line in lines
        if line.startswith("ethermeter-agent ")
        for option in re.findall(r"--[a-z][a-z-]+", line)
    }
    assert shown
    assert shown <= AGENT_OPTIONS


def test_every_make_target_that_is_shown_exists():
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    lines = [
        line
        for text in PAGES.values()
        for block in blocks(text, "sh")
        for line in block.splitlines()
    ]
    shown = {line.split()[1] for line in lines if line.startswith("make ")}
    shown |= {
        code.split()[1]
        for text in PAGES.values()
        for code in INLINE.findall(prose(text))
        if re.fullmatch(r"make [a-z-]+", code)
    }
    assert shown
    assert shown <= targets


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in heads]
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page):
    wrong = []
    text = PAGES.get(page) or (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        name = os.path.normpath(Path(page).parent / path) if path else page
        is_there = name in PAGES or name in FILES or (ROOT / name).exists()
        if not is_there or (anchor and name in PAGES and anchor not in anchors(PAGES[name])):
            wrong.append(target)
    assert wrong == []


TRUST = "docs/explanation/trust.md"
NUMBER = re.compile(r"(?<![\w.])\d+(?: \d{3})*(?:\.\d+)?")


def numbers(text: str) -> set[str]:
    """Numbers of a text without the spaces in them; those of links and names are none."""
    plain = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    return {found.replace(" ", "") for found in NUMBER.findall(plain)}


def test_lab_notes_are_named_where_the_site_says_how_far_to_trust_answers():
    named = set(re.findall(r"evidence/([a-z0-9-]+\.md)", PAGES[TRUST]))
    notes = {Path(page).name for page in PAGES if page.startswith("evidence/")}
    # Values of the parameters that another note discusses.
    assert notes - named == {"voice-study-parameters.md"}


@pytest.mark.parametrize("section", re.split(r"^## ", PAGES[TRUST], flags=re.MULTILINE)[1:])
def test_each_number_of_the_page_on_trust_is_in_a_source_that_its_section_names(section):
    linked = [
        os.path.normpath(Path(TRUST).parent / path)
        for path in re.findall(r"\]\(([^)#]+)[^)]*\)", section)
    ]
    tests = re.findall(r"`(tests/[^`]+)`", section)
    known = numbers("\n".join([*(PAGES[path] for path in linked), *map(documents.page, tests)]))
    assert linked
    assert numbers(section) - known == set()


def test_each_number_of_the_overview_on_trust_is_in_a_section():
    overview, *sections = re.split(r"^## ", PAGES[TRUST], flags=re.MULTILINE)
    assert numbers(overview) - numbers("\n".join(sections)) == set()


def test_files_with_unsafe_code_are_those_that_the_architecture_lists():
    table = PAGES["ARCHITECTURE.md"].partition("### Unsafe code")[2].partition("\n## ")[0]
    listed = {
        f"crates/{crate}/src/{file}"
        for crate, files in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE)
        for file in re.findall(r"`([^`]+)`", files)
    }
    unsafe = re.compile(r"^(?!\s*//).*\bunsafe\s*(?:\{|impl\b|fn\b|extern\b|trait\b)", re.MULTILINE)
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "crates").rglob("*.rs")
        if unsafe.search(path.read_text(encoding="utf-8"))
    }
    assert found == listed


def test_what_is_simulated_of_tcp_is_not_said_to_be_left_out():
    assert "transfer" in keys_of(table_reader(Flow))
    assert not re.search(
        r"(?:knows|simulates) no TCP|Not modelled:[^;]*\bTCP\b",
        PAGES["docs/reference/networks.md"] + PAGES["docs/explanation/model.md"],
    )
    assert "| TCP |" in PAGES["docs/explanation/networks.md"]


def test_each_message_on_the_page_of_errors_has_its_own_key():
    page = errors.page()
    for row in (
        "| `arrivals.repeat` | expected true, or at least the time of its messages, … us |",
        "| `arrivals.offset` | expected at most the time of its last message, … us |",
        "| `round_trip` | expected an even number of picoseconds, half of it for each way |",
        "| `turnaround` | expected 0 s on a segment of 10BASE-T1S; see segment.phy |",
        "| `mtu` | allowed with data only |",
        # Raised by a function of its own, which knows no key.
        "| any | expected at most one of idle_slope and quantum in a class |",
    ):
        assert row in page, row


def test_errors_are_in_the_order_in_which_a_user_meets_them():
    page = errors.page()
    heads = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert heads[:5] == [
        *("Exit codes", "How to read the tables"),
        *("The experiment file", "The command line", "The run directory"),
    ]
    assert heads[-2:] == ["Measurement of one host", "Captures"]
    sections = re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    assert [section for section in sections if "|---|" not in section] == []
    names = [name for topic in TOPICS for part in topic.sections for name in part.modules]
    titles = [part.title for topic in TOPICS for part in topic.sections]
    assert (len(names), len(titles)) == (len(set(names)), len(set(titles)))
    with pytest.raises(LookupError, match="names weather: add it to TOPICS"):
        section_of("weather")


def test_decisions_are_called_by_the_number_of_their_file():
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        head = path.read_text(encoding="utf-8").splitlines()[0]
        found = re.match(r"# (\d+)\. ", head)
        assert found, path.name
        assert int(path.name[:4]) == int(found[1]), f"{path.name}: {head}"
    sources = [
        *ROOT.glob("crates/*/src/**/*.rs"),
        *ROOT.glob("crates/*/tests/*.rs"),
        *ROOT.glob("python/**/*.py"),
    ]
    texts = {**PAGES, **{path.as_posix(): path.read_text(encoding="utf-8") for path in sources}}
    for page, text in texts.items():
        for number, name in re.findall(
            r"\[[Dd]ecision (\d+)\]\([^)]*?(\d{4}-[a-z0-9-]+\.md)\)", text
        ):
            assert int(number) == int(name[:4]), (page, name)
        for name in re.findall(r"decisions/(\d{4}-[a-z0-9-]+\.md)", text):
            assert (ROOT / "docs" / "decisions" / name).exists(), (page, name)


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/decisions/")])
def test_every_name_of_a_study_of_shipped_experiments_exists(page):
    studies = {name.split("/")[0] for name in shipped() if "/" in name}
    pattern = re.compile(rf"(?:{'|'.join(sorted(studies))})/[a-z0-9/-]+")
    wrong = []
    for code in INLINE.findall(prose(PAGES[page])):
        if (
            pattern.fullmatch(code)
            and code not in shipped()
            and not any(name.startswith(code.rstrip("/") + "/") for name in shipped())
        ):
            wrong.append(code)
    assert wrong == []


def test_every_block_of_toml_is_toml_and_every_whole_experiment_is_sound(tmp_path):
    whole = 0
    for page, text in PAGES.items():
        for block in parsed_blocks(text):
            if block.title.endswith(".csv"):
                (tmp_path / block.title).write_text(block.body, encoding="utf-8")
        for number, block in enumerate(blocks(text, "toml")):
            read = tomllib.loads(block)
            if not {"title", "segment"} <= set(read) and not {"title", "network", "flows"} <= set(
                read
            ):
                continue
            path = tmp_path / f"{Path(page).stem}-{number}.toml"
            path.write_text(block, encoding="utf-8")
            assert load(path).points >= 1, page
            whole += 1
    assert whole >= 3


def test_every_block_of_python_speaks_of_what_the_package_has():
    for page, text in PAGES.items():
        for block in blocks(text, "python"):
            for node in ast.walk(ast.parse(block)):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "em"
                ):
                    assert hasattr(em, node.attr), (page, node.attr)


@pytest.mark.parametrize("page", PAGES)
def test_every_caution_that_is_named_exists(page):
    known = set(Caution) | set(captures.Caution)
    word = r"`[a-z-]+`(?: \([^()]*\))?"
    named = re.findall(
        rf"[Cc]autions?:? ({word}(?:(?:,| and|; live also) {word})*)", prose(PAGES[page])
    )
    for words in named:
        assert set(re.findall(r"`([a-z]+-[a-z-]+)`", words)) <= known, words


def test_every_group_of_metrics_has_a_table():
    assert set(TITLES) == set(EntityKind)


@pytest.mark.parametrize("page", PAGES)
def test_every_metric_in_the_first_column_of_a_table_of_metrics_exists(page):
    wrong = []
    for table in re.findall(
        r"^\| metric[^\n]*\n\|[-| :]+\n((?:\|[^\n]*\n)+)", PAGES[page], re.MULTILINE
    ):
        for row in table.splitlines():
            cells = re.split(r"(?<!\\)\|", row)[1]
            wrong += [
                name
                for name in re.findall(r"`([a-z][a-z_0-9]+)`", cells)
                if name not in set(Metric)
            ]
    assert wrong == []
