"""The commands, put together."""

from typing import Annotated

import typer

from ethermeter.cli import (
    admission,
    agent,
    benchmark,
    bottleneck,
    calibrating,
    calls,
    ceilings,
    choosing,
    explain,
    hosts,
    inspecting,
    measure,
    plca,
    reflector,
    reporting,
    running,
    search,
    testbed,
    theory,
    voice,
)
from ethermeter.cli.guard import Settings, command
from ethermeter.cli.help import Groups, group

GROUPS: Groups = {
    "Experiments": {
        "run": "Run an experiment, estimate and report.",
        "reproduce": "Reproduce a published study, or all, and check the claims.",
        "validate": "Check experiment files; name every fault.",
        "plan": "List the trials of an experiment; run nothing.",
        "report": "Write the report of a finished run again.",
        "compare": "Compare two finished runs point by point.",
        "figures": "Draw figures of a finished run into files.",
        "experiments": "List, show and copy the shipped experiments.",
        "schema": "Print the JSON Schema of experiment files, for editors.",
    },
    "Measurement": {
        "measure": "Measure an experiment between real hosts, or a host that answers.",
        "reflector": "Answer test packets of STAMP on this host.",
        "agent": "Send and receive on this host for a coordinator.",
        "hosts": "Certify and check the hosts of a laboratory.",
        "testbed": "Make virtual hosts on this machine and remove them.",
    },
    "Limits": {
        "search": "Find the largest or smallest value with which conditions hold.",
        "calls": "Find how many calls fit with a given quality.",
        "benchmark": "Run a suite: RFC 2544, 2889, 3918, 6349, Y.1564.",
        "bottleneck": "Find which stage limits a transfer.",
        "ceilings": "Measure what each stage of this host can do alone.",
        "explain": "Explain what limited each TCP connection of a capture.",
        "plca": "Find the longest cycle and access delays of a bus of 10BASE-T1S.",
    },
    "Calibration": {
        "calibrate": "Estimate parameters of a network from measurements.",
        "predict": "Predict what a calibrated network does.",
    },
    "Models": {
        "theory": "List, evaluate and choose models; compare them with runs.",
        "voice": "Rate calls, cut speech into packets, size trunks.",
    },
}

app = group(
    "ethermeter",
    "Learn what an Ethernet can carry, with what delay, loss and fairness.",
    GROUPS,
    examples="  ethermeter reproduce boggs1988\n  ethermeter experiments\n"
    "  ethermeter run poisson-load\n"
    "  ethermeter run my-network.toml --set stations.0.count=12 --out runs/twelve",
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        from ethermeter._core import version

        typer.echo(f"ethermeter {version()}")
        raise typer.Exit


@app.callback()
def _all_commands(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn what an Ethernet can carry, with what delay, loss and fairness."""
    Settings.debug = debug


command(app, "run", examples=running.RUN_EXAMPLES)(running.run)
command(app, "reproduce", examples=running.REPRODUCE_EXAMPLES)(running.reproduce)
command(
    app,
    "validate",
    examples="  ethermeter validate my-network.toml\n  ethermeter validate *.toml --json",
)(inspecting.validate)
command(
    app,
    "plan",
    examples="  ethermeter plan poisson-load\n  ethermeter plan my-network.toml --json | head -1",
)(inspecting.plan)
command(app, "experiments", examples=inspecting.EXPERIMENTS_EXAMPLES)(inspecting.experiments)
command(app, "schema", examples="  ethermeter schema > ethermeter.schema.json")(inspecting.schema)
command(app, "report", examples="  ethermeter report runs/poisson-load-0123456789ab")(
    reporting.report
)
command(app, "figures", examples=reporting.FIGURES_EXAMPLES)(reporting.figures)
command(
    app,
    "compare",
    examples=(
        "  ethermeter compare runs/before runs/after\n  ethermeter compare runs/before runs/after "
        "--json\n  ethermeter compare runs/before runs/after --out comparison.html\n"
        "  ethermeter compare runs/release-1 runs/release-2 --fail-below 2%"
    ),
)(reporting.compare)
command(theory.app, "agreement", examples=choosing.AGREEMENT_EXAMPLES)(choosing.agreement)
command(theory.app, "choose", examples=choosing.CHOOSE_EXAMPLES)(choosing.choose)
command(voice.app, "emodel", examples=voice.EMODEL_EXAMPLES)(voice.emodel)
command(voice.app, "codecs", examples=voice.CODECS_EXAMPLES)(voice.codecs)
command(voice.app, "talkers", examples=voice.TALKERS_EXAMPLES)(voice.talkers)
command(app, "ceilings", examples=ceilings.EXAMPLES)(ceilings.ceilings)
command(app, "explain", examples=explain.EXAMPLES)(explain.explain)
command(app, "plca", examples=plca.EXAMPLES)(plca.plca)
command(app, "benchmark", examples=benchmark.EXAMPLES)(benchmark.benchmark)
command(app, "bottleneck", examples=bottleneck.EXAMPLES)(bottleneck.bottleneck)
command(app, "search", examples=search.EXAMPLES)(search.search)
command(app, "calls", examples=calls.EXAMPLES)(calls.calls)
command(voice.app, "admission", examples=admission.EXAMPLES)(admission.admission)
command(app, "calibrate", examples=calibrating.CALIBRATE_EXAMPLES)(calibrating.calibrate)
command(app, "predict", examples=calibrating.PREDICT_EXAMPLES)(calibrating.predict)
command(voice.app, "erlang", examples=voice.ERLANG_EXAMPLES)(voice.erlang)
command(app, "measure", examples=measure.EXAMPLES)(measure.measure)
command(app, "reflector", examples=reflector.EXAMPLES)(reflector.reflector)
command(app, "agent", examples=agent.EXAMPLES)(agent.agent)
app.add_typer(hosts.app)
app.add_typer(testbed.app)
app.add_typer(theory.app)
app.add_typer(voice.app)
