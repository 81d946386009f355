"""The catalogue of errors: exit codes, and the messages that the sources have."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ethermeter.cli import guard

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "ethermeter"
HEAD = """# Errors

This page is generated from the sources: the exit codes, and every message by the part of the program that reports it.
`…` stands for text that depends on the case.

An error is one line on stderr; `--debug` adds the traceback of an unexpected one.
From Python the same faults are `em.InputError` (with `faults`: `file`, `key`, `value`, `allowed`), `em.RunError` and `em.TrialError`.

## Exit codes

| code | name | meaning | what to do |
|---|---|---|---|
"""
EXITS = {
    "BAD_INPUT": (
        "an input cannot be used: one line for each fault, `FILE: KEY = VALUE: WHAT IS ALLOWED`",
        "change the named value; nothing was run",
    ),
    "FAILED": (
        "something failed while it ran: disk, permission, a peer, a trial; or a test that the command makes has failed",
        "remove the cause that the line names, and continue with `--resume`",
    ),
    "INTERRUPTED": ("Ctrl-C", "continue with `--resume`; finished trials are kept"),
    "TERMINATED": ("SIGTERM", "continue with `--resume`; finished trials are kept"),
    "BROKEN_PIPE": ("the reader of stdout has closed it", "nothing"),
}
ADDERS = {"add": 2, "error": 2, "Fault": 3, "of": 3}
"""Calls that make a fault, and the position of what is allowed among their arguments."""
RAISED = ("RunError", "TrialError", "TestbedError", "PeerError")
RUST = re.compile(r'#\[error\(\s*"((?:[^"\\]|\\.)+)"')
LEAD = {
    "faults": "## Faults of inputs (exit code 2)\n\nThe text after the value: what is allowed at a key.\n",
    "failures": "\n## Failures (exit code 1)\n",
    "rust": "\n## Messages of the core, agents and peers\n\nThey appear within the lines above, after the name of what was being done.\n",
}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    codes = {name: getattr(guard, name) for name in EXITS}
    for name, code in sorted(codes.items(), key=lambda item: item[1]):
        parts.append(f"| {code} | {name.lower().replace('_', ' ')} | {' | '.join(EXITS[name])} |\n")
    faults: dict[str, dict[str, str]] = defaultdict(dict)
    failures: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = _constants(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for key, text in _faults(call, names):
                faults[module].setdefault(text, key)
            for text in _failures(call, names):
                failures[module].setdefault(text, "")
    parts.append("\n" + LEAD["faults"])
    parts += _tables(faults, "| key or option | what is allowed |\n|---|---|\n", keyed=True)
    parts.append(LEAD["failures"])
    parts += _tables(failures, "| message |\n|---|\n", keyed=False)
    parts.append(LEAD["rust"])
    parts += _tables(_rust(), "| message |\n|---|\n", keyed=False)
    return "".join(parts)


def _tables(found: dict[str, dict[str, str]], head: str, *, keyed: bool) -> Iterator[str]:
    for module, texts in sorted(found.items()):
        if texts:
            yield f"\n### `{module}`\n\n{head}"
            for text, key in texts.items():
                yield f"| {_code(key)} | {_cell(text)} |\n" if keyed else f"| {_cell(text)} |\n"


def _faults(call: ast.Call, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield key and message of a call that makes a fault."""
    name, of = _name(call.func), _name(getattr(call.func, "value", None))
    is_of_faults = name == "Fault" or of == "InputError" or "fault" in of.lower()
    position = ADDERS.get(name) if is_of_faults else None
    if position is None or len(call.args) <= position:
        return
    text = _template(call.args[position], names)
    if text is not None and len(text.strip("… ")) > 3:
        yield _key(call.args[position - 2], names), text


def _name(node: ast.AST | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _failures(call: ast.Call, names: dict[str, str]) -> Iterator[str]:
    if isinstance(call.func, ast.Name) and call.func.id in RAISED and call.args:
        text = _template(call.args[0], names)
        if text is not None and len(text.strip("… ")) > 3:
            yield text


def _template(node: ast.expr, names: dict[str, str]) -> str | None:
    """Return a text with `…` for what is filled in; None if it is none."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_template(value, names) or "…" for value in values)
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            return f"{_template(left, names) or '…'}{_template(right, names) or '…'}"
        case ast.IfExp(body=body, orelse=orelse):
            both = [text for text in (_template(body, names), _template(orelse, names)) if text]
            return " / ".join(both) or None
        case ast.Name(id=name):
            return names.get(name)
    return None


def _key(node: ast.expr, names: dict[str, str]) -> str:
    """Return a key path as it is printed; numbers of tables are `…`."""
    if isinstance(node, ast.Tuple | ast.List):
        return ".".join(_template(one, names) or "…" for one in node.elts)
    return _template(node, names) or ""


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return names that are assigned one text in a module."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                text = _template(node.value, {})
                if text is not None:
                    found[target.id] = text
    return found


def _rust() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        for text in RUST.findall(path.read_text(encoding="utf-8")):
            plain = re.sub(r"\\\s*\n\s*", "", re.sub(r"\{[^{}]*\}", "…", text)).replace('\\"', '"')
            if len(plain.strip("… :=,")) > 3:
                found[f"crate {path.relative_to(ROOT / 'crates').parts[0]}"].setdefault(plain, "")
    return found


def _code(text: str) -> str:
    return f"`{text.replace('|', '/')}`" if text.strip("…. ") else "any"


def _cell(text: str) -> str:
    escaped = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("*", "\\*").replace("[", "\\[")
