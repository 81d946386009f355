"""What the settings of a bus of 10BASE-T1S do."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ethermeter.api.arguments import EXPERIMENT, Overrides, Read
from ethermeter.faults import Fault, InputError
from ethermeter.operation import Argument, Display, operation

if TYPE_CHECKING:
    from ethermeter.analysis.buses import Buses, InterfaceBus, SingleBus
    from ethermeter.experiment import Experiment
    from ethermeter.theory.bus_advice import Advice


@dataclass(frozen=True, slots=True)
class BusOptions:
    """Options of `bus`."""

    experiment: Annotated[str | Path | Read | None, EXPERIMENT] = None
    _: KW_ONLY
    interface: Annotated[
        str | None,
        Argument(
            "Instead of an experiment: interface of this host whose PLCA settings are used.", "NAME"
        ),
    ] = None
    overrides: Overrides = ()
    figure: Annotated[
        Path | None,
        Argument("Also draw a figure into this file: .html, .svg, .pdf or .png.", "FILE"),
    ] = None


@operation(BusOptions)
def bus(options: BusOptions, display: Display) -> "SingleBus | Buses | InterfaceBus":
    """Compute the longest cycles and access delays of 10BASE-T1S buses; simulate nothing.

    For each bus at the first point of an experiment: the delays of each node, the smallest safe
    to-tmr, the effect of burst-cnt and of a second node ID, and every wrong setting. Exit code 0;
    2 for invalid input.

    For an interface: its settings as keys of a file, whether beacons arrive, and the same results
    for a bus whose nodes all have these settings.

    Raises
    ------
    InputError
        With every fault of the experiment; if it has no such bus, or the interface no PLCA.

    """
    experiment, interface = options.experiment, options.interface
    if interface is not None and experiment is None:
        if options.overrides or options.figure is not None:
            allowed = "expected it alone: keys to set, and a figure, are of an experiment"
            raise InputError.of_argument("interface", interface, allowed)
        return _of_interface(interface)
    if experiment is None or interface is not None:
        given = "(missing)" if experiment is None else "given with an interface"
        allowed = "expected an experiment or an interface, one of them"
        raise InputError.of_argument("experiment", given, allowed)
    from ethermeter.analysis.buses import Buses, SingleBus
    from ethermeter.api.experiments import load
    from ethermeter.api.figures import require_drawing
    from ethermeter.entities import flows_in
    from ethermeter.theory.bus_advice import advice

    require_drawing("figure", options.figure)
    (loaded,) = load(experiment, overrides=options.overrides).experiments
    scenario = loaded.scenarios.at([0] * len(loaded.sweeps))
    found = advice(scenario)
    if not found:
        raise _no_bus(loaded)
    point = {sweep.key: sweep.texts[0] for sweep in loaded.sweeps}
    if options.figure is not None:
        _draw(loaded, point, found, options.figure)
    if flows_in(scenario):
        return Buses(point, found)
    return SingleBus.of(found["segment"], point)


def _draw(
    experiment: "Experiment", point: Mapping[str, str], found: "Mapping[str, Advice]", figure: Path
) -> None:
    from ethermeter.report.bus_page import bus_page
    from ethermeter.report.export import export

    export(bus_page(str(experiment.document["title"]), point, found), figure)


def _no_bus(experiment: "Experiment") -> InputError:
    """Return the error of an experiment without a bus: the standards that its segments have."""
    from ethermeter.experiment.document import segments_in

    document, file = experiment.document, str(experiment.path)
    segments = segments_in(document)
    value = ", ".join(dict.fromkeys(each["standard"] for each in segments.values()))
    key = f"{next(iter(segments), 'network.segments')}.standard"
    return InputError([Fault(file, key, value or "(missing)", 'expected "10base-t1s"')])


def _of_interface(name: str) -> "InterfaceBus":
    """Return what the PHY of an interface has, and what it does to a bus of such nodes."""
    from ethermeter.analysis.buses import InterfaceBus
    from ethermeter.api.bus_interface import plca_of
    from ethermeter.store.result import plca_status

    port = plca_of(name)
    warnings = list(port.warnings())
    try:
        found = port.bus()
    except InputError as error:
        found = None
        warnings += [f"{fault.key} = {fault.value}: {fault.allowed}" for fault in error.faults]
    return InterfaceBus(name, port.table, plca_status(port.plca), tuple(warnings), found)
