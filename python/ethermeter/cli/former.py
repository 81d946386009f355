"""Former names of commands and options: they are refused, with the names that replace them."""

from collections.abc import Collection, Mapping, Sequence

COMMANDS = {
    "benchmark": "find benchmark",
    "bottleneck": "find bottleneck",
    "calibrate": "fit",
    "calls": "find calls",
    "ceilings": "find ceilings",
    "figures": "report RUN --metric METRIC",
    "hosts check": "hosts FILE",
    "hosts init": "hosts FILE --certify",
    "plan": "validate EXPERIMENT --trials",
    "plca": "bus",
    "reproduce": "study",
    "schema": "experiments --schema FILE",
    "search": "find value",
    "testbed capture": "testbed show NAME --capture FILE",
    "theory": "model",
    "theory agreement": "compare RUN",
    "theory choose": "validate EXPERIMENT --models",
    "theory eval": "model MODEL NAME=VALUE...",
    "theory list": "model",
    "theory show": "model MODEL",
    "voice": "model",
    "voice admission": "model admission run=RUN",
    "voice codecs": "model codecs",
    "voice emodel": "model emodel",
    "voice erlang": "model erlang",
    "voice talkers": "model talkers",
}
"""Commands by their former names, without the program."""

OPTIONS = {
    "--cluster": "--jobs ADDRESS",
    "--hosts": "--on FILE",
    "--list": "the command without arguments lists what there is",
    "--loopback": "--on loopback",
    "--plain": "--on testbed,plain",
    "--replications": "--set run.replications=N",
    "--resume": "none: a run that is unfinished continues",
    "--seed": "--set seed=N",
    "--testbed": "--on testbed",
    "--wires": "--on testbed,relay",
}
"""Options that several commands had."""


def command_of(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the former command that words begin with, and what replaces it; None if none does."""
    for name in (" ".join(words[:2]), " ".join(words[:1])):
        if name in COMMANDS:
            return name, COMMANDS[name]
    return None


def refuse(words: Sequence[str], known: Collection[str], own: Mapping[str, str]) -> None:
    """Refuse options of former names that a command does not have any more.

    `known`: the options that it has. `own`: what replaces those that only it had.

    Raises
    ------
    InputError
        With each of them.

    """
    from ethermeter.faults import Fault, InputError

    replaced = {**OPTIONS, **own}
    given = words[: words.index("--")] if "--" in words else words
    names = [word.partition("=")[0] for word in given if word.startswith("--")]
    faults = [
        Fault("command line", name, "no option any more", f"now {replaced[name]}")
        for name in names
        if name in replaced and name not in known
    ]
    if faults:
        raise InputError(faults)
