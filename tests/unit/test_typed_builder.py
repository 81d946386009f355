"""The builder has every key of every table with its type, which a checker of types applies."""

import inspect
import subprocess
import sys
from pathlib import Path

import ethermeter as em
import pytest
from ethermeter.experiment import builder, json_schema, keys

ROOT = Path(__file__).parents[2]
TABLES = json_schema()["$defs"]
EVERY = [(table, key) for table, schema in TABLES.items() for key in schema["properties"]]
MADE = {
    "Document": (em.segment, ("'ieee-10'",)),
    "Segment": (em.segment, ("'ieee-10'",)),
    "Network": (em.network, ()),
    "StationGroup": (em.stations, ("'n'",)),
    "HostGroup": (em.host, ("'n'",)),
    "Switch": (em.switch, ("'n'",)),
    "Router": (em.router, ("'n'",)),
    "Hub": (em.hub, ("'n'",)),
    "NetworkSegment": (em.network_segment, ("'n'", "'ieee-10'")),
    "Link": (em.link, ("'a'", "'b'")),
    "Flow": (em.flow, ("'n'", "'a'", "'b'")),
    "MessageTable": (em.messages, ("'m.csv'", "'a'", "'b'")),
}
"""Functions that make tables, and arguments by position, which are keys too."""
POSITIONAL = {
    *(("Segment", "standard"), ("NetworkSegment", "standard"), ("Link", "ends")),
    *((table, "name") for table in MADE if table not in ("Document", "Segment", "Network")),
    *((table, end) for table in ("Flow", "MessageTable") for end in ("from", "to")),
    ("MessageTable", "table"),
    # The main tables of a file are made by `segment` and `network` themselves.
    *(("Document", key) for key in ("segment", "network", "flows")),
}


def samples(schema):
    """Return a value of each form that a key may have, as Python."""
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return [one for each in schema[word] for one in samples(each)]
    if "$ref" in schema:
        return [sample_of(schema["$ref"].rpartition("/")[2])]
    if "const" in schema or "enum" in schema:
        return [repr(each) for each in schema.get("enum", [schema.get("const")])]
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return [one for each in kind for one in samples({"type": each})]
    plain = {"string": "'1 ms'", "integer": "1", "number": "0.5", "boolean": "True"}
    if kind in plain:
        return [plain[kind]]
    if kind == "array":
        return [f"[{one}, {one}]" for one in samples(schema.get("items", {"type": "string"}))]
    if "properties" in schema:
        return [in_table(schema)]
    named = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    return ["{'a': " + one + "}" for one in samples(named[0])]


def in_table(schema, **given):
    """Return a table with its required keys, and those given."""
    first = {key: samples(schema["properties"][key])[0] for key in schema.get("required", ())}
    inner = ", ".join(f"{key!r}: {value}" for key, value in {**first, **given}.items())
    return f"{{{inner}}}"


def sample_of(name):
    return in_table(TABLES[name])


def lines_of(table, key):
    """Return lines that give a key of a table each form of value that it may have."""
    schema = TABLES[table]
    if table not in MADE:
        values = samples(schema["properties"][key])
        return [f"_: keys.{table}Keys = {in_table(schema, **{key: one})}" for one in values]
    function, arguments = MADE[table]
    required = [each for each in schema.get("required", ()) if (table, each) not in POSITIONAL]
    given = {each: samples(schema["properties"][each])[0] for each in required}
    if function is em.segment:
        given["stations"] = "em.stations('n', count=2, arrivals='saturated')"
    if (table, key) in POSITIONAL:
        values = [None]
    elif (table, key) in {("Document", "stations"), ("Document", "title")}:
        values = [given.get(key, "'t'")]
    elif table == "Network" and key in ("hosts", "switches", "routers", "hubs"):
        values = [f"['a', em.{key.removesuffix('es' if key == 'switches' else 's')}('b')]"]
    elif table == "Network" and key == "segments":
        values = ["[em.network_segment('a', 'ieee-10')]"]
    elif table == "Network" and key == "links":
        values = ["[('a', 'b'), em.link('a', 'b')]"]
    else:
        values = samples(schema["properties"][key])
    found = []
    for value in values:
        keywords = given if value is None else {**given, key: value}
        texts = [f"{name}={one}" for name, one in keywords.items()]
        found.append(f"em.{function.__name__}({', '.join([*arguments, *texts])})")
    return found


def checked(tmp_path, lines):
    """Return what a checker of types says of a program, and its exit code."""
    path = tmp_path / "program.py"
    head = ["import ethermeter as em", "from ethermeter.experiment import keys"]
    path.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", path]
    command += ["--config-file", ROOT / "pyproject.toml"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_each_key_of_each_table_is_typed():
    typed = 0
    for table, key in EVERY:
        annotations = getattr(keys, f"{table}Keys", None)
        names = inspect.get_annotations(annotations) if annotations is not None else {}
        if table in MADE:
            names = {**names, **inspect.signature(MADE[table][0]).parameters}
        assert key in names or (table, key) in POSITIONAL, (table, key)
        typed += 1
    assert typed == len(EVERY) >= 339


@pytest.mark.slow
def test_a_program_with_each_key_of_each_table_has_the_types(tmp_path):
    lines = [line for table, key in EVERY for line in lines_of(table, key)]
    assert len(lines) > len(EVERY)
    done = checked(tmp_path, [line.replace("_:", f"_{at}:", 1) for at, line in enumerate(lines)])
    assert not done.stdout, done.stdout
    assert done.returncode == 0, done.stderr


WRONG = (
    "em.flow('m', 'a', 'b', frame='64 B')",
    "em.flow('m', 'a', 'b', priority='3')",
    "em.flow('m', 'a', 'b', arrivals={'regular': 1})",
    "em.flow('m', 'a', 'b', arrivals={'regula': '1 ms'})",
    "em.flow('m', 'a', 'b', cast='multcast')",
    "em.segment('ieee-10', stations=[], star={'radius': '5 m'})",
    "em.stations('n', count=1, arrivals='saturated', plca={'node_id': 3})",
    "em.network(phases={'transmit': 5})",
    "em.network(run={'engines': ['simulaton']})",
    "em.messages('m.csv', columns={'name': 5})",
    "em.switch('s', queue='64 kB', fabric={'shared': {'fixed': '1 us'}})",
)


@pytest.mark.slow
def test_wrong_keys_and_values_have_not(tmp_path):
    done = checked(tmp_path, WRONG)
    numbers = {int(line.split(":")[1]) for line in done.stdout.splitlines() if "error:" in line}
    assert numbers == set(range(3, 3 + len(WRONG))), done.stdout


def test_keywords_are_shown_when_the_program_runs():
    shown = inspect.signature(em.network).parameters
    assert {"rate", "classes", "phases", "seed", "hosts"} <= set(shown)
    assert "plca" in inspect.signature(em.segment).parameters
    assert "keys" not in inspect.signature(em.flow).parameters


def test_message_tables_and_segments_are_made_by_functions():
    made = em.network(
        flows=["a.csv", em.messages("b.csv", cast="multicast", ignore=["*"])],
        segments=[em.network_segment("bus", "10base-t1s", length="25 m", plca={"to-tmr": 40})],
    )
    assert made["flows"] == ["a.csv", {"table": "b.csv", "cast": "multicast", "ignore": ["*"]}]
    assert made["network"]["segments"] == [
        {"name": "bus", "standard": "10base-t1s", "length": "25 m", "plca": {"to-tmr": 40}}
    ]
    assert em.network(flows="a.csv")["flows"] == "a.csv"
    assert builder.flow is em.flow


def test_the_types_are_those_of_the_tables():
    command = [sys.executable, "scripts/generate-keys", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
