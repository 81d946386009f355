"""Moments: when a trial begins, stops, is measured and ends, from the lengths of its phases."""

from ethermeter.experiment.phases import Phases
from ethermeter.faults import Fault, InputError
from ethermeter.units import LONGEST_TRIAL_PS, PS_PER_S

SHORTEST_WINDOW_PS = PS_PER_S // 1000
"""The shortest window that may be measured: 1 ms."""


def moments(phases: Phases, *, file: str) -> dict[str, int]:
    """Return the moments of a trial, in ps from its start.

    Raises
    ------
    InputError
        If the measured window does not fit into the transmit phase, or all of it is too long.

    """
    begin_ps = phases.settle
    stop_ps = begin_ps + phases.transmit
    end_ps = stop_ps + phases.drain
    window_ps = (
        phases.measure.window_ps if phases.measure.window_ps is not None else phases.transmit
    )
    faults = []
    if window_ps > phases.transmit:
        allowed = (
            f"expected a window inside the transmit phase, which lasts {_seconds(phases.transmit)}"
        )
        faults.append(Fault(file, "phases.measure", _seconds(window_ps), allowed))
    if window_ps < SHORTEST_WINDOW_PS:
        key = "phases.transmit" if phases.measure.window_ps is None else "phases.measure"
        faults.append(Fault(file, key, _seconds(window_ps), "expected at least 1 ms to measure"))
    if phases.spread > phases.transmit:
        allowed = f"expected at most the transmit phase, {_seconds(phases.transmit)}, in which all stations must begin"
        faults.append(Fault(file, "phases.spread", _seconds(phases.spread), allowed))
    if end_ps > LONGEST_TRIAL_PS:
        faults.append(
            Fault(
                file,
                "phases",
                _seconds(end_ps),
                f"expected settle, transmit and drain of at most {_seconds(LONGEST_TRIAL_PS)} together",
            )
        )
    if faults:
        raise InputError(faults)
    from_ps = {
        "all": begin_ps,
        "last": stop_ps - window_ps,
        "middle": begin_ps + (phases.transmit - window_ps) // 2,
    }[phases.measure.where]
    return {
        "begin_ps": begin_ps,
        "stop_ps": stop_ps,
        "measure_from_ps": from_ps,
        "measure_to_ps": from_ps + window_ps,
        "end_ps": end_ps,
        "spread_ps": phases.spread,
    }


def _seconds(ps: int) -> str:
    return f"{ps / PS_PER_S:.12g} s"
