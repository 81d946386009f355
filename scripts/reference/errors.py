"""The catalogue of errors: exit codes, and the messages that the sources have."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ethermeter.cli import guard

from .error_topics import TOPICS, Section, section_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "ethermeter"
HEAD = """# Errors

This page is generated from the sources: the exit codes, and the messages, in the order in which a user meets them, from the experiment file to captures.
`…` stands for text that depends on the case.

An error is one line on stderr; `--debug` adds the traceback of an unexpected one.
From Python the same faults are `em.InputError` (with `faults`: `file`, `key`, `value`, `allowed`), `em.RunError` and `em.TrialError`.

## Exit codes

| code | name | meaning | what to do |
|---|---|---|---|
"""
MESSAGES = """
## How to read the tables

A message stands under what you were doing when it appeared.

- *Key or option* and *what is allowed*: an input cannot be used (exit code 2). The line begins with the file, the key and its value.
- *Failure*: something failed while it ran (exit code 1).
- *Cause*: a message of the core, an agent or a peer. It stands within a line of the other two, after the name of what was being done.
"""
EXITS = {
    "BAD_INPUT": (
        "an input cannot be used: one line for each fault, `FILE: KEY = VALUE: WHAT IS ALLOWED`",
        "change the named value; nothing was run",
    ),
    "FAILED": (
        "something failed while it ran: disk, permission, a peer, a trial; or a test that the command makes has failed",
        "remove the cause that the line names, and type the command again",
    ),
    "UNDECIDED": (
        "no check fails, but an interval is too wide to tell (`--fail-if`); or no value is known well enough (`compare --fail-below`)",
        "run more replications, or a longer trial",
    ),
    "INTERRUPTED": ("Ctrl-C", "type the command again; finished trials are kept"),
    "TERMINATED": ("SIGTERM", "type the command again; finished trials are kept"),
    "BROKEN_PIPE": ("the reader of stdout has closed it", "nothing"),
}
ADDERS = {"add": 2, "error": 2, "Fault": 3, "of": 3}
"""Calls that make a fault, and the position of what is allowed among their arguments."""
RAISED = ("RunError", "TrialError", "TestbedError", "PeerError")
RUST = re.compile(r'#\[error\(\s*"((?:[^"\\]|\\.)+)"')
KINDS = {
    "fault": "| key or option | what is allowed |\n|---|---|\n",
    "failure": "| failure |\n|---|\n",
    "cause": "| cause |\n|---|\n",
}
"""Kinds of messages, and the heads of their tables, in the order of a section."""
Messages = dict[str, dict[str, str]]
"""The key of each message, by module and message; empty where it has none."""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    codes = {name: getattr(guard, name) for name in EXITS}
    for name, code in sorted(codes.items(), key=lambda item: item[1]):
        parts.append(f"| {code} | {name.lower().replace('_', ' ')} | {' | '.join(EXITS[name])} |\n")
    parts.append(MESSAGES)
    faults, failures = _messages()
    parts += _topics({"fault": faults, "failure": failures, "cause": _rust()})
    return "".join(parts)


def _messages() -> tuple[Messages, Messages]:
    """Return the faults and the failures of the package."""
    faults: Messages = defaultdict(dict)
    failures: Messages = defaultdict(dict)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for scope in _scopes(ast.parse(path.read_text(encoding="utf-8")).body):
            for call in scope.calls:
                for key, text in _faults(call, scope):
                    faults[module].setdefault(text, key)
                for text in _failures(call, scope):
                    failures[module].setdefault(text, "")
            for text in _others(scope):
                if not any(text in known for known in faults[module]):
                    faults[module][text] = ""
    return faults, failures


def _topics(messages: dict[str, Messages]) -> Iterator[str]:
    """Yield the topics with the tables of their sections; a section without messages is left out.

    Raises LookupError if no section names a module that has messages.
    """
    modules: dict[str, set[str]] = defaultdict(set)
    for found in messages.values():
        for module, texts in found.items():
            if texts:
                modules[section_of(module).title].add(module)
    for topic in TOPICS:
        yield f"\n## {topic.title}\n\n{topic.lead}\n"
        for section in topic.sections:
            in_order = sorted(modules[section.title], key=lambda module: _rank(module, section))
            if in_order:
                yield f"\n### {section.title}\n"
            for kind, head in KINDS.items():
                keys_of = [messages[kind].get(module, {}) for module in in_order]
                rows = dict.fromkeys((key, text) for keys in keys_of for text, key in keys.items())
                if rows:
                    yield f"\n{head}"
                    yield from (_row(key, text, keyed=kind == "fault") for key, text in rows)


def _rank(module: str, section: Section) -> tuple[int, str]:
    """Position of a module in a section: that of the name in it that is nearest."""
    near = [name for name in section.modules if f"{module}.".startswith(f"{name}.")]
    return section.modules.index(max(near, key=len)), module


def _row(key: str, text: str, *, keyed: bool) -> str:
    return f"| {_code(key)} | {_cell(text)} |\n" if keyed else f"| {_cell(text)} |\n"


class _Scope:
    """A module or function: its calls in the order of the source, and the texts of its names."""

    def __init__(self, body: list[ast.stmt], outer: "_Scope | None" = None) -> None:
        self.calls: list[ast.Call] = []
        self.functions: list[ast.FunctionDef] = []
        self.texts: list[ast.expr] = []
        self._assigned: list[tuple[int, str, ast.expr]] = []
        self._used: dict[str, list[int]] = defaultdict(list)
        self._outer = outer
        for statement in body:
            self._visit(statement)
        self.calls.sort(key=lambda call: call.lineno)
        for call in self.calls:
            for name in (each.id for each in call.args if isinstance(each, ast.Name)):
                self._used[name].append(call.lineno)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef):
            self.functions.append(node)
            return
        if isinstance(node, ast.Call):
            self.calls.append(node)
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            self.texts.append(node)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            self._assigned += [
                (node.lineno, of.id, given) for of, given in pairs if isinstance(of, ast.Name)
            ]
        for below in ast.iter_child_nodes(node):
            self._visit(below)

    def values(self, name: str, line: int) -> list[tuple[int, ast.expr]]:
        """Return what a name may be at a line: its assignments since the call that used it last.

        Branches that share a call have an assignment each; others have a call of their own.
        """
        used = max((at for at in self._used[name] if at < line), default=0)
        found = [(at, value) for at, of, value in self._assigned if of == name and at <= line]
        since = [(at, value) for at, value in found if at > used]
        if not found and self._outer is not None:
            return self._outer.values(name, sys.maxsize)
        return since or found[-1:]

    def text(self, name: str, line: int) -> str | None:
        """Return the last text that was assigned to a name before a line; None if there is none."""
        texts = [_template(value, self, at) for at, value in self.values(name, line)]
        return texts[-1] if texts else None


def _scopes(body: list[ast.stmt], outer: _Scope | None = None) -> Iterator[_Scope]:
    """Yield the scope of a module or function, and those of the functions in it."""
    scope = _Scope(body, outer)
    yield scope
    for function in scope.functions:
        yield from _scopes(function.body, scope)


def _faults(call: ast.Call, scope: _Scope) -> Iterator[tuple[str, str]]:
    """Yield key and message of a call that makes a fault."""
    function: ast.expr = call.func
    if isinstance(function, ast.Name):
        # Some functions give a short name to the method that adds a fault.
        known = [value for _, value in scope.values(function.id, call.lineno)]
        function = known[-1] if known and isinstance(known[-1], ast.Attribute) else function
    name, of = _name(function), _name(getattr(function, "value", None))
    is_of_faults = name == "Fault" or of == "InputError" or "fault" in of.lower()
    position = ADDERS.get(name) if is_of_faults else None
    if position is None or len(call.args) <= position:
        return
    allowed, line = call.args[position], call.lineno
    found = scope.values(allowed.id, line) if isinstance(allowed, ast.Name) else [(line, allowed)]
    for at, value in found:
        text = _template(value, scope, at)
        if text is not None and len(text.strip("… ")) > 3:
            # Branches that share a call also choose their keys.
            yield _key(call.args[position - 2], scope, at if len(found) > 1 else line), text


def _others(scope: _Scope) -> Iterator[str]:
    """Yield what is allowed by the other texts of a scope, which reach a fault by some function."""
    for node in scope.texts:
        text = re.sub(r"\{\w*\}", "…", _template(node, scope, node.lineno) or "")
        is_part = text.rstrip().endswith(":") or text.strip(" …") == "expected"
        if text.startswith("expected ") and not is_part:
            yield text


def _name(node: ast.AST | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _failures(call: ast.Call, scope: _Scope) -> Iterator[str]:
    if isinstance(call.func, ast.Name) and call.func.id in RAISED and call.args:
        text = _template(call.args[0], scope, call.lineno)
        if text is not None and len(text.strip("… ")) > 3:
            yield text


def _template(node: ast.expr, scope: _Scope, line: int) -> str | None:
    """Return a text with `…` for what is filled in; None if it is none."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_template(value, scope, line) or "…" for value in values)
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            both = (_template(side, scope, line) or "…" for side in (left, right))
            return "".join(both)
        case ast.IfExp(body=body, orelse=orelse):
            either = [_template(one, scope, line) for one in (body, orelse)]
            return " / ".join(text for text in either if text) or None
        case ast.Name(id=name):
            return scope.text(name, line - 1)
    return None


def _key(node: ast.expr, scope: _Scope, line: int) -> str:
    """Return a key path as it is printed; numbers of tables are `…`."""
    after = line + 1  # one line may assign the key and what is allowed
    if isinstance(node, ast.Tuple | ast.List):
        return ".".join(_template(one, scope, after) or "…" for one in node.elts)
    return _template(node, scope, after) or ""


def _rust() -> Messages:
    found: Messages = defaultdict(dict)
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
