"""The command that says what the settings of a bus of 10BASE-T1S do."""

from typing import TYPE_CHECKING, Annotated

import typer

from ethermeter.cli import options
from ethermeter.cli.output import first_point, point_text, print_json, require_drawing, show

if TYPE_CHECKING:
    from ethermeter.experiment import Experiment
    from ethermeter.faults import InputError
    from ethermeter.theory.bus_advice import Advice

EXAMPLES = """\
  ethermeter plca 10base-t1s/sensor-bus
  ethermeter plca my-bus.toml --set segment.plca.burst-cnt=2
  ethermeter plca my-bus.toml --figure my-bus.html
  ethermeter plca 10base-t1s/zone-gateway
  ethermeter plca --interface eth1
  ethermeter plca my-bus.toml --json"""


def plca(
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT",
            show_default=False,
            help="An experiment file, or the name of a shipped one.",
        ),
    ] = None,
    *,
    interface: Annotated[
        str | None,
        typer.Option(
            "--interface",
            metavar="NAME",
            show_default=False,
            help="Instead of an experiment: interface of this host whose PLCA settings are used.",
        ),
    ] = None,
    overrides: options.Overrides = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Compute the longest cycles and access delays of 10BASE-T1S buses; simulate nothing.

    For each bus at the first point of an experiment: the delays of each node, the smallest safe
    to-tmr, the effect of burst-cnt and of a second node ID, and every wrong setting. Exit code 0;
    2 for invalid input.

    For an interface: its settings as keys of a file, whether beacons arrive, and the same results
    for a bus whose nodes all have these settings.
    """
    from ethermeter.faults import InputError

    if (experiment is None) == (interface is None):
        given = "both" if experiment is not None else "(missing)"
        raise InputError.of("ethermeter plca", "EXPERIMENT", given, "required without --interface")
    if interface is not None:
        if overrides or figure is not None:
            allowed = "expected it without --set and --figure, which are of an EXPERIMENT"
            raise InputError.of("ethermeter plca", "--interface", interface, allowed)
        _print_interface(interface, as_json=as_json)
        return
    assert experiment is not None, "checked above"
    from ethermeter import api
    from ethermeter.entities import flows_in
    from ethermeter.theory.bus_advice import advice

    require_drawing("--figure", figure)
    (loaded,) = api.load(experiment, overrides=overrides or ()).experiments
    scenario = loaded.scenarios.at([0] * len(loaded.sweeps))
    found = advice(scenario)
    if not found:
        raise _no_bus(loaded)
    point = first_point(loaded)
    where = point_text(point) if point else ""
    if figure is not None:
        from ethermeter.report.bus_page import bus_page
        from ethermeter.report.export import export

        export(bus_page(str(loaded.document["title"]), where, found), figure)
    has_flows = bool(flows_in(scenario))
    if as_json:
        plain = {name: _plain(bus) for name, bus in found.items()}
        print_json({"point": point, **({"segments": plain} if has_flows else plain["segment"])})
        return
    from ethermeter.present.plca import buses

    show(buses(where, found, has_names=has_flows))
    if figure is not None:
        typer.echo(str(figure))


def _no_bus(experiment: "Experiment") -> "InputError":
    """Return the error of an experiment without a bus: the standards that its segments have."""
    from ethermeter.experiment.document import segments_in
    from ethermeter.faults import Fault, InputError

    document, file = experiment.document, str(experiment.path)
    segments = segments_in(document)
    value = ", ".join(dict.fromkeys(each["standard"] for each in segments.values()))
    key = f"{next(iter(segments), 'network.segments')}.standard"
    return InputError([Fault(file, key, value or "(missing)", 'expected "10base-t1s"')])


def _print_interface(name: str, *, as_json: bool) -> None:
    """Print what the PHY of an interface has, and what it does to a bus of such nodes."""
    from ethermeter.cli.plca_interface import ASSUMED, plca_of
    from ethermeter.faults import InputError
    from ethermeter.store.result import plca_status

    port = plca_of(name)
    warnings = list(port.warnings())
    try:
        bus = port.bus()
    except InputError as error:
        bus = None
        warnings += [f"{fault.key} = {fault.value}: {fault.allowed}" for fault in error.faults]
    if as_json:
        found = {
            "interface": name,
            "plca": port.table,
            "status": plca_status(port.plca),
            "warnings": warnings,
        }
        print_json({**found, "bus": None if bus is None else _plain(bus)})
        return
    from ethermeter.present.plca import interface

    show(interface(port.text, port.plca, warnings, assumed=ASSUMED, bus=bus))


def _plain(found: "Advice") -> dict[str, object]:
    bus = found.bus
    return {
        "node_count": bus.node_count,
        "empty_cycle_s": bus.empty_ps / 1e12,
        "longest_cycle_s": bus.longest_ps / 1e12 if bus.is_bounded else None,
        "least_to_tmr_bits": bus.least_opportunity_bits,
        "nodes": [
            {
                "group": each.group,
                "node_ids": [list(ids) for ids in each.ids],
                "longest_opportunity_s": each.opportunity_ps / 1e12,
                "attempt_delay_max_s": _seconds(each.attempt_delay_ps),
                "access_delay_max_s": _seconds(each.access_delay_ps),
                "attempt_delay_max_with_two_ids_s": _seconds(each.with_two_ids_ps),
            }
            for each in found.nodes
        ],
        "bursts": [
            {
                "burst_cnt": each.count,
                "longest_cycle_s": each.longest_ps / 1e12,
                "attempt_delay_max_s": each.attempt_delay_ps / 1e12,
                "access_delay_max_s": each.access_delay_ps / 1e12,
                "data_share": each.data_share,
            }
            for each in found.bursts
        ],
        "warnings": list(found.warnings),
    }


def _seconds(time_ps: int | None) -> float | None:
    return None if time_ps is None else time_ps / 1e12
