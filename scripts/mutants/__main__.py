"""Measure how many of sixty listed faults (`list.toml`) the tests find.

    python scripts/mutants check
    python scripts/mutants apply TREE
    python scripts/mutants run TREE RESULTS.tsv [--known EARLIER.tsv] [NUMBER ...]

`apply` puts all faults into a copy of the tree, each behind a switch: the fault whose number is in
ETHERMETER_MUTANT is there, without it none. So one build serves all. A text that does not occur
exactly once stops it; `check` (part of `make lint`) looks for such texts in this tree.

`run` builds the copy once and runs the tests on each fault (or on those numbered; 0 is none) until
one fails: first the test binaries of its crate and of those that depend on it, and the tests in
Python that are near it; then, of the faults that live, all quick tests in Python, and of those in
`crates/station`, as root, the attacks on agents. A test that fails without the fault too proves
nothing and is left out. The test that found a fault in EARLIER.tsv is run before all others. Rows
that RESULTS.tsv has already are kept. Run it by a Python that has the
development environment; cargo's target folder is CARGO_TARGET_DIR.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SWITCH = "ETHERMETER_MUTANT"
RUST_SWITCH = f"""
/// Whether the fault `number` is switched on.
#[inline]
pub(crate) fn mutant(number: u32) -> bool {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var("{SWITCH}").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    *CHOSEN.get_or_init(read) == number
}}
"""
PYTHON_SWITCH = f"""

_MUTANT = int(__import__("os").environ.get("{SWITCH}", "0"))
"""
DEPENDANTS = {
    "ethernet": ("ethernet", "trial", "station", "simulator"),
    "traffic": ("traffic", "trial", "capture", "station", "simulator"),
    "trial": ("trial", "simulator"),
    "simulator": ("simulator",),
    "station": ("station", "agent"),
    "capture": ("capture",),
}
"""Crates whose tests are run for a fault in a crate."""
RECORDED = "tests/agreement/test_recorded_values.py"
ATTACKS = "tests/live/test_consent_attacks.py"
QUICK = "not long and not alone and not browser"
CPU_S, WALL_S = 900, 10_800
"""A process of a group of tests that takes more hangs; a busy machine takes long."""
RUST_FAILED = r"test (\S+).* \.\.\. FAILED"
PYTHON_FAILED = r"(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$"
"""Lines that name a test that failed."""


@dataclass(frozen=True)
class Mutant:
    """A fault: `old` is replaced by `new`."""

    number: int
    file: str
    old: str
    new: str
    what: str
    near: str = ""

    @property
    def crate(self) -> str | None:
        """Its crate; None of Python."""
        return self.file.split("/")[1] if self.file.startswith("crates/") else None

    @property
    def switched(self) -> str:
        """Both texts and the switch between them."""
        if self.crate is None:
            return f"(({self.new}) if _MUTANT == {self.number} else ({self.old}))"
        both = f"if crate::mutant({self.number}) {{ {self.new} }} else {{ {self.old} }}"
        return both if self.old.endswith(";") else f"({both})"


@dataclass(frozen=True)
class Group:
    """Tests that are run by one command."""

    name: str
    command: tuple[str, ...]
    folder: Path
    failed: str
    is_near: bool = False

    def only(self, test: str) -> tuple[str, ...]:
        """Return the command of a single test."""
        if self.failed == RUST_FAILED:
            return (*self.command, test, "--exact")
        return (*(word for word in self.command if not word.startswith("tests/")), "-n0", test)

    def without(self, test: str) -> "Group":
        """Return the others of the tests."""
        words = ("--skip", test) if self.failed == RUST_FAILED else (f"--deselect={test}",)
        return replace(self, command=(*self.command, *words))


def switched(tree: Path, mutants: list[Mutant], free: dict[str, list[str]]) -> dict[str, str]:
    """Return the files of a tree with all faults."""
    files = dict.fromkeys([*(mutant.file for mutant in mutants), *free])
    texts = {file: (tree / file).read_text() for file in files}
    for mutant in mutants:
        put(texts, mutant.file, mutant.old, mutant.switched)
    for file, names in free.items():
        for name in names:
            put(texts, file, f"const fn {name}(", f"fn {name}(")
    return texts


def apply(tree: Path, mutants: list[Mutant], free: dict[str, list[str]]) -> None:
    """Put all faults into a tree."""
    for file, text in switched(tree, mutants, free).items():
        (tree / file).write_text(text if file.endswith(".rs") else text + PYTHON_SWITCH)
    for crate in dict.fromkeys(mutant.crate for mutant in mutants if mutant.crate):
        with (tree / f"crates/{crate}/src/lib.rs").open("a") as library:
            library.write(RUST_SWITCH)


def put(texts: dict[str, str], file: str, old: str, new: str) -> None:
    """Replace a text that occurs once."""
    count = texts[file].count(old)
    if count != 1:
        sys.exit(f"{file}: expected once, found {count} times: {old}")
    texts[file] = texts[file].replace(old, new)


def built(tree: Path) -> dict[str, list[tuple[Path, Path]]]:
    """Build all; return the test binaries of each crate, each with the folder that it runs in."""
    subprocess.run(["cargo", "build", "--release", "-pethermeter-python"], cwd=tree, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target")) / "release"
    shutil.copy(target / "lib_core.so", tree / "python" / "ethermeter" / "_core.abi3.so")
    crates = sorted({crate for crates in DEPENDANTS.values() for crate in crates})
    tests = ["cargo", "test", "--release", "--no-run", "--tests", "--message-format=json"]
    tests += [f"-pethermeter-{crate}" for crate in crates]
    printed = subprocess.run(tests, cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, list[tuple[Path, Path]]] = {crate: [] for crate in crates}
    for message in map(json.loads, printed.splitlines()):
        if message.get("profile", {}).get("test") and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            found[folder.name].append((Path(message["executable"]), folder))
    for binaries in found.values():  # those of the crate itself first
        binaries.sort(key=lambda binary: not binary[0].name.startswith("ethermeter_"))
    return found


def groups(
    tree: Path, mutant: Mutant | None, binaries: dict[str, list[tuple[Path, Path]]]
) -> Iterator[Group]:
    """Yield the tests of a fault, in the order in which they are run; without one, all."""
    crate = mutant.crate if mutant else None
    crates = DEPENDANTS[crate] if crate else () if mutant else tuple(binaries)
    for name in crates:
        for binary, folder in binaries[name]:
            named = f"{name}/{binary.name.rsplit('-', 1)[0]}"
            yield Group(named, (str(binary),), folder, RUST_FAILED, is_near=True)
    paths = [path for folder in ("truth", "agreement", "unit") for path in files_of(tree, folder)]
    word = mutant.near if mutant else ""
    first = [path for path in paths if word and word in (tree / path).read_text()]
    yield replace(pytest_of(tree, "near", first, workers=0), is_near=True)
    others = [path for path in paths if path not in (*first, RECORDED)]
    yield pytest_of(tree, "recorded", [RECORDED], workers=2)
    yield pytest_of(tree, "rest", others, workers=2)
    if crate == "station" and os.geteuid() == 0:
        yield pytest_of(tree, "attacks", [ATTACKS], workers=0)


def files_of(tree: Path, folder: str) -> list[str]:
    """Return the files of tests in a folder."""
    return sorted(str(p.relative_to(tree)) for p in (tree / "tests" / folder).glob("test_*.py"))


def pytest_of(tree: Path, name: str, paths: list[str], *, workers: int) -> Group:
    """Return a group of tests in Python; none that take minutes, a browser or a quiet machine."""
    options = f"-x -q -pno:cacheprovider --hypothesis-seed=0 -n{workers}".split()
    found = [path for path in paths if (tree / path).exists()]
    command = (sys.executable, "-m", "pytest", *options, "-m", QUICK, *found) if found else ()
    return Group(name, command, tree, PYTHON_FAILED)


def ran(command: tuple[str, ...], group: Group, tree: Path, number: int) -> tuple[int | None, str]:
    """Run a command on a fault; return its exit code, None if it hangs, and what it printed."""
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryFile("w+") as printed:
        environment = os.environ | {
            SWITCH: str(number),
            "PYTHONPATH": f"{tree}/python:{tree}/tests/support:{tree}",
            "HYPOTHESIS_STORAGE_DIRECTORY": kept,
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
            "PROPTEST_RNG_SEED": "1",
        }
        limited = ("prlimit", f"--cpu={CPU_S}:{CPU_S + 10}", *command)
        both: dict[str, Any] = {"stdout": printed, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(
            limited, cwd=group.folder, env=environment, start_new_session=True, **both
        )
        try:
            code: int | None = process.wait(WALL_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = None
        printed.seek(0)
        return code, printed.read()


def verdict(tree: Path, number: int, found: Iterator[Group]) -> tuple[str, str]:
    """Return whether a fault is killed, and by which test, and which proved nothing."""
    doubtful = []
    for group in found:
        while group.command:
            code, printed = ran(group.command, group, tree, number)
            if code in (0, 4, 5):  # 4 and 5: pytest found no such test
                break
            names = re.findall(group.failed, printed, re.MULTILINE)
            what = names[0] if names else "hangs or crashes"
            named = f"{group.name}: {what}"
            if not names:
                print(printed[-2000:], file=sys.stderr)
            elif ran(group.only(names[0]), group, tree, 0)[0] != 0:
                doubtful.append(f"{named} (without it too)")
                group = group.without(names[0])
                continue
            return "killed", "; ".join([named, *doubtful])
    return "survived", "; ".join(doubtful)


def known_tests(path: Path) -> dict[int, str]:
    """Return the test that found each fault, by what was written before."""
    rows = re.findall(r"^(\d+)\t\S*\tkilled\t[^:\t]+: ([^;\t]+)", path.read_text(), re.MULTILINE)
    return {int(number): test for number, test in rows}


def known(tree: Path, found: Iterator[Group], test: str) -> Iterator[Group]:
    """Yield what is left of groups if only one test is run."""
    is_python = test.startswith("tests/")
    if is_python and (tree / test.partition("::")[0]).exists():
        of_python = pytest_of(tree, "known", [test.partition("::")[0]], workers=0)
        yield replace(of_python, command=of_python.only(test))
    for group in found:
        if not is_python and group.failed == RUST_FAILED:
            yield replace(group, command=(*group.command, test.rpartition("::")[2]))


def run(
    tree: Path, results: Path, mutants: list[Mutant], chosen: list[int], tests: dict[int, str]
) -> None:
    """Run the tests on faults, the known ones first, and write a row for each."""
    binaries = built(tree)
    written = results.read_text() if results.exists() else ""
    done = {int(number) for number in re.findall(r"^\d+", written, re.MULTILINE)}
    by_number = {mutant.number: mutant for mutant in mutants}
    for step in ("known", "near", "rest"):
        for number in chosen or sorted(by_number):
            if number in done or (step == "known" and number not in tests):
                continue
            mutant, begun = by_number.get(number), time.monotonic()
            found = groups(tree, mutant, binaries)
            if step == "known":
                found = known(tree, found, tests[number])
            else:
                found = (of for of in found if of.is_near == (step == "near"))
            ending, by = verdict(tree, number, found)
            seconds = round(time.monotonic() - begun)
            text = f"{number}\t{mutant.file if mutant else ''}\t{ending}\t{by}\t{seconds}"
            print(text, flush=True)
            if ending == "killed" or step == "rest":
                done.add(number)
                with results.open("a") as rows:
                    rows.write(f"{text}\n")


def main(arguments: list[str]) -> None:
    """Do one of the steps."""
    listed = tomllib.loads(Path(__file__).with_name("list.toml").read_text())
    mutants = [Mutant(**one) for one in listed["mutant"]]
    match arguments:
        case ["check"]:
            switched(Path.cwd(), mutants, listed["free"])
        case ["apply", tree]:
            apply(Path(tree).resolve(), mutants, listed["free"])
        case ["run", tree, results, "--known", earlier, *numbers]:
            run(
                Path(tree).resolve(),
                Path(results).resolve(),
                mutants,
                [*map(int, numbers)],
                known_tests(Path(earlier)),
            )
        case ["run", tree, results, *numbers]:
            run(Path(tree).resolve(), Path(results).resolve(), mutants, [*map(int, numbers)], {})
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
