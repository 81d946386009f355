"""Traffic: a group of stations as the engines read it, in bits and picoseconds."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ethermeter.experiment import hosts, lengths, voice
from ethermeter.experiment.coder import Coded
from ethermeter.experiment.complaints import dotted
from ethermeter.experiment.frames import Frames, MeasuredFrames, Mix, Samples
from ethermeter.experiment.stations import StationGroup
from ethermeter.faults import Fault, InputError
from ethermeter.units import LONGEST_PS

Constants = Mapping[str, Any]
"""What a group needs of its segment: bit_ps, gap_bits, preamble_bits, fcs_bits, attempt_limit,
backoff_limit.
"""


def contradictions(group: StationGroup, index: int, *, file: str) -> list[Fault]:
    """Return what a group says that cannot both be."""
    saturated = group.arrivals == "saturated"
    faults = []
    if saturated and group.queue is not None:
        faults.append(
            Fault(
                file,
                dotted(("stations", index, "queue")),
                str(group.queue),
                "not allowed with saturated arrivals, which never wait in a queue",
            )
        )
    if not saturated and group.generator is not None:
        faults.append(
            Fault(
                file,
                dotted(("stations", index, "generator")),
                "a generator",
                'allowed with arrivals = "saturated" only',
            )
        )
    if (
        group.clock_error
        and not isinstance(group.arrivals, Coded)
        and not isinstance(group.backoff, hosts.LoadRegister)
    ):
        allowed = (
            "allowed with a coder or a load register only: nothing else goes by a host's clock"
        )
        faults.append(
            Fault(
                file,
                dotted(("stations", index, "clock_error")),
                f"{group.clock_error} ppb",
                allowed,
            )
        )
    return faults + voice.contradictions(group, index, file=file)


def group_of(
    group: StationGroup, index: int, *, constants: Constants, folder: Path, file: str
) -> dict[str, Any]:
    """Return a group as the engines read it, all but its places.

    Raises
    ------
    InputError
        If frames or arrivals do not fit the segment.

    """
    has_coder = isinstance(group.arrivals, Coded)
    if has_coder:
        frames, arrivals = voice.frames_and_arrivals(group, index, constants=constants, file=file)
    else:
        sizes = _sizes(group, index, constants=constants, folder=folder, file=file)
        frames, arrivals = (
            frames_plan(sizes),
            _arrivals(group, index, sizes=sizes, constants=constants, file=file),
        )
    # Only where there is one, so that other plans keep their hash.
    clock = {"clock_error_ppb": group.clock_error} if group.clock_error else {}
    wait = {"priority_wait_ps": group.priority_wait} if group.priority_wait else {}
    return {
        "frames": frames,
        "arrivals": arrivals,
        **clock,
        "generator": None
        if group.generator is None
        else {"buffers": group.generator.buffers, "time": times_plan(group.generator.time)},
        "queue_frames": group.queue,
        **wait,
        "service": times_plan(group.service),
        "backoff": _backoff(group.backoff, limit=constants["backoff_limit"]),
        "attempt_limit": group.attempt_limit
        if group.attempt_limit is not None
        else constants["attempt_limit"],
        # A coder's buffer goes on whatever becomes of attempts.
        "after_attempt_limit": group.after_attempt_limit or ("resume" if has_coder else "discard"),
        "after_late_collision": group.after_late_collision,
    }


def _sizes(
    group: StationGroup, index: int, *, constants: Constants, folder: Path, file: str
) -> list[tuple[int, Fraction]]:
    """Return frame lengths in bits, FCS included, with their weights."""
    fcs_bits = constants["fcs_bits"]
    place = dotted(("stations", index, "frames"))
    # Samples come of a coder, without which they contradict the arrivals.
    assert not isinstance(group.frames, Samples)
    sizes = sizes_of(group.frames, folder=folder)
    if not group.frames_include_fcs:
        sizes = [(bits + fcs_bits, weight) for bits, weight in sizes]
    shortest = min(bits for bits, _ in sizes)
    if shortest <= fcs_bits:
        allowed = f"expected frames longer than their frame check sequence, {fcs_bits} bit, or frames_include_fcs = false"
        raise InputError([Fault(file, place, f"{shortest} bit", allowed)])
    longest = max(bits for bits, _ in sizes)
    if (constants["preamble_bits"] + longest) * constants["bit_ps"] > LONGEST_PS:
        raise InputError(
            [
                Fault(
                    file,
                    place,
                    f"{longest} bit",
                    "expected frames that last at most 1000 s at this rate",
                )
            ]
        )
    return sizes


def sizes_of(frames: Frames | None, *, folder: Path) -> list[tuple[int, Fraction]]:
    """Return lengths in bits with their weights, as a file has them.

    Raises
    ------
    InputError
        If they are in a file of measured lengths that cannot be read.

    """
    assert frames is not None
    assert not isinstance(frames, Samples)
    if isinstance(frames, MeasuredFrames):
        return lengths.read(folder / frames.measured, name=frames.measured)
    mixed = frames.mix if isinstance(frames, Mix) else frames
    return [(part.length, part.weight) for part in mixed if part.weight > 0]


def frames_plan(sizes: list[tuple[int, Fraction]]) -> dict[str, Any]:
    """Return lengths in bits with their weights as the engines read them."""
    if len(sizes) == 1:
        return {"kind": "fixed", "bits": sizes[0][0]}
    return {
        "kind": "mix",
        "bits": [bits for bits, _ in sizes],
        "weights": [float(weight) for _, weight in sizes],
    }


def _arrivals(
    group: StationGroup,
    index: int,
    *,
    sizes: list[tuple[int, Fraction]],
    constants: Constants,
    file: str,
) -> dict[str, Any]:
    match group.arrivals:
        case hosts.PoissonLoad(poisson_load=load):
            # Charged as Boggs et al. (1988, section 3.3) charge: preamble, frame and gap.
            mean_bits = sum(bits * weight for bits, weight in sizes) / sum(
                weight for _, weight in sizes
            )
            charged_ps = (
                constants["preamble_bits"] + mean_bits + constants["gap_bits"]
            ) * constants["bit_ps"]
            mean_ps = charged_ps * group.count / load
            if mean_ps > LONGEST_PS:
                allowed = "expected a load at which a station sends at least every 1000 s"
                raise InputError(
                    [
                        Fault(
                            file,
                            dotted(("stations", index, "arrivals", "poisson_load")),
                            f"{float(load):g}",
                            allowed,
                        )
                    ]
                )
            return {"kind": "poisson", "mean_ps": float(mean_ps)}
        case _:
            return arrivals_plan(group.arrivals)


def arrivals_plan(arrivals: hosts.Arrivals) -> dict[str, Any]:
    """Return arrivals that depend on no load as the engines read them."""
    match arrivals:
        case hosts.Poisson(poisson=mean_ps):
            return {"kind": "poisson", "mean_ps": float(mean_ps)}
        case hosts.Regular(regular=period_ps, phase=phase_ps):
            # Only where it is set, so that other plans keep their hash.
            return {
                "kind": "regular",
                "period_ps": period_ps,
                **({} if phase_ps == "random" else {"phase_ps": phase_ps}),
            }
        case hosts.OnOff(on_off=times):
            return {
                "kind": "on_off",
                "period_ps": times.period,
                "on_mean_ps": float(times.on),
                "off_mean_ps": float(times.off),
            }
        case _:
            return {"kind": "saturated"}


def times_plan(times: hosts.Times) -> dict[str, Any]:
    """Return a distribution of times as the engines read it."""
    match times:
        case hosts.Uniform(uniform=bounds):
            return {"kind": "uniform", "low_ps": bounds[0], "high_ps": bounds[1]}
        case hosts.Exponential(exponential=parameters):
            return {
                "kind": "exponential",
                "offset_ps": parameters.offset,
                "mean_ps": float(parameters.mean),
            }
        case hosts.MeasuredTimes(measured=measured):
            return {
                "kind": "measured",
                "values_ps": list(measured.values),
                "weights": [float(weight) for weight in measured.weights],
            }
        case hosts.Constant(constant=time_ps):
            return {"kind": "constant", "ps": time_ps}
        case _:
            return {"kind": "constant", "ps": times}


def _backoff(backoff: hosts.Backoff, *, limit: int) -> dict[str, Any]:
    match backoff:
        case hosts.ExponentialBackoff(exponential=parameters):
            return {"rule": "exponential", "limit": parameters.limit}
        case hosts.LinearBackoff(linear=parameters):
            return {"rule": "linear", "limit": parameters.limit}
        case hosts.ConstantBackoff(constant=parameters):
            return {"rule": "constant", "slots": parameters.slots}
        case hosts.LoadRegister(load_register=parameters):
            return {
                "rule": "load-register",
                "bits": parameters.bits,
                "clock_ps": parameters.clock,
                "ticks": parameters.ticks,
            }
        case "none":
            return {"rule": "none"}
        case _:
            return {"rule": "exponential", "limit": limit}
