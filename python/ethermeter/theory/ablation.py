"""Ablation: from the idealised scenario of a model to the segment, one assumption after another.

Each step removes the assumption that it is named after and keeps the later ones, so the change of a
result between two steps is the effect of that assumption. The last step is the experiment.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from ethermeter.entities import constants_of, medium_of
from ethermeter.scenario import Mac, Scenario
from ethermeter.theory.idealised import (
    IdealisedScenario,
    adaptive,
    bare,
    has_scenario,
    mapped,
    with_access,
    with_flows,
    without_host,
)
from ethermeter.theory.inputs import PS_PER_S, ModelInputs
from ethermeter.theory.predictions import ENTRIES
from ethermeter.theory.simplifications import Simplification, named

Make = Callable[..., IdealisedScenario]


@dataclass(frozen=True, slots=True)
class Step:
    """A step from an idealised scenario to the segment, named for the assumption it removes.

    `gives_up` are the assumptions that no longer hold, `says` what replaces them, and `make` the
    scenario after it.
    """

    name: str
    gives_up: tuple[Simplification, ...]
    says: str
    make: Make


def _backoff_in_slots(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    return with_access(bare(s, scenario), adaptive(s, "binary-exponential"), without_host)


def _segment(
    s: ModelInputs,
    scenario: Scenario,
    *,
    overhead: bool = False,
    standard_slot: bool = False,
    topology: bool = False,
    host: bool = False,
) -> IdealisedScenario:
    """Return the segment itself with some of its properties as theories have them."""
    base = IdealisedScenario(scenario) if overhead else _least_overhead(s, scenario)
    changed = base.scenario
    medium = medium_of(changed)
    if not standard_slot:
        slot_bits = max(1, round(s.contention_slot_s * PS_PER_S / medium.bit_ps))
        mac = replace(constants_of(changed), slot_bits=slot_bits)
        medium = replace(medium, mac=Mac(csma_cd=mac))
    if not topology:
        # All at one attachment point, whose stations are half a contention slot apart.
        delay_ps = ((round(s.contention_slot_s / 2 * PS_PER_S),),)
        stations = [replace(group, points=(0,) * len(group.points)) for group in medium.stations]
        medium = replace(medium, delay_ps=delay_ps, stations=tuple(stations))
    if not host:
        changed = with_flows(changed, without_host)
    return dataclasses.replace(base, scenario=replace(changed, media=(medium,)))


def _least_overhead(s: ModelInputs, scenario: Scenario) -> IdealisedScenario:
    """Return the scenario with preamble and gap in its frames.

    Gap and jam have one bit each, which the simulator needs.
    """
    bare_one = bare(s, scenario).scenario
    bits = max(1, round(s.overhead_bits))
    mac = replace(constants_of(bare_one), gap_bits=1, jam_bits=1)
    medium = replace(medium_of(bare_one), mac=Mac(csma_cd=mac))
    shorter = with_flows(
        replace(bare_one, media=(medium,)),
        lambda flow: replace(flow, frames=mapped(flow.frames, lambda length: length - 1)),
    )
    return IdealisedScenario(shorter, 1.0, bits - 1)


_KNOWN_QUEUE = Step(
    "known-queue",
    named("known-queue infinite-population"),
    "stations with queues of their own, each with its own backoff; contention still in slots",
    _backoff_in_slots,
)
_SLOTTED = Step(
    "slotted",
    named("slotted constant-collision"),
    "stations start at any time, and a collision lasts as long as it is heard",
    _segment,
)
_PROTOCOL = Step(
    "protocol",
    named(
        "slotted constant-collision non-persistent p-persistent fixed-retransmission"
        " poisson-attempts infinite-population lost-after-collision token"
    ),
    "the medium access of Ethernet with stations of its own",
    partial(_segment, host=True),
)
_OVERHEAD = Step(
    "no-overhead",
    (Simplification.NO_OVERHEAD,),
    "preamble, jam, gap and turnaround time as they are",
    partial(_segment, overhead=True),
)
_SLOT_TIME = Step(
    "contention-slot",
    (),
    "backoff in slot times of the standard",
    partial(_segment, overhead=True, standard_slot=True),
)
_TOPOLOGY = Step(
    "equally-far",
    (Simplification.EQUALLY_FAR,),
    "stations where they are",
    partial(_segment, overhead=True, standard_slot=True, topology=True),
)
_HOST = Step(
    "always-ready",
    (Simplification.ALWAYS_READY,),
    "hosts that need time between frames: the experiment itself",
    partial(_segment, overhead=True, standard_slot=True, topology=True, host=True),
)


def steps(model: str, inputs: ModelInputs) -> tuple[Step, ...]:
    """Return the steps from the idealised scenario of a model to the segment; none if it has none.

    The last of them gives up the last assumption, so it is the experiment and need not be simulated
    again.
    """
    if not has_scenario(model):
        return ()
    assumed = ENTRIES[model].assumes
    if Simplification.KNOWN_QUEUE in assumed:
        first: tuple[Step, ...] = (_KNOWN_QUEUE, _SLOTTED, _OVERHEAD, _SLOT_TIME, _TOPOLOGY)
        return (*first, _HOST) if inputs.service_s or inputs.generator else first
    # These models have a thinking time, so that hosts keep their times in every step.
    return (
        _PROTOCOL,
        *(
            dataclasses.replace(step, make=partial(step.make, host=True))
            for step in (_OVERHEAD, _SLOT_TIME, _TOPOLOGY)
        ),
    )


def ablated(
    model: str, step: str, inputs: ModelInputs, scenario: Scenario
) -> IdealisedScenario | None:
    """Return the idealised scenario after a step, or None if there is no such step."""
    found = (each for each in steps(model, inputs) if each.name == step)
    return next((each.make(inputs, scenario) for each in found), None)


def after(step: str) -> str:
    """Return the name of the following step, or the assumption that the experiment removes.

    Raises
    ------
    KeyError
        If no step that is simulated on the way has this name, or nothing follows.

    """
    names = [each.name for each in (_SLOTTED, _OVERHEAD, _SLOT_TIME, _TOPOLOGY, _HOST)]
    return dict(pairwise(names))[step]


ALL_STEPS = (_KNOWN_QUEUE, _SLOTTED, _PROTOCOL, _OVERHEAD, _SLOT_TIME, _TOPOLOGY, _HOST)
"""All steps."""
