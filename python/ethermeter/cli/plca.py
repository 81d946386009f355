"""The command that says what the settings of a bus of 10BASE-T1S do."""

from typing import TYPE_CHECKING

import typer

from ethermeter.cli import options
from ethermeter.cli.output import number, print_json, print_table

if TYPE_CHECKING:
    from ethermeter.theory.bus_advice import Advice

EXAMPLES = """\
  ethermeter plca 10base-t1s/sensor-bus
  ethermeter plca my-bus.toml --set segment.plca.burst-cnt=2
  ethermeter plca my-bus.toml --json"""
PS_PER_US = 1e6


def plca(
    experiment: options.Experiment,
    *,
    overrides: options.Overrides = None,
    as_json: options.Json = False,
) -> None:
    """Say how long cycles and access delays of a bus of 10BASE-T1S are at most; simulate nothing.

    Of the first point of the experiment: delays of each node, the smallest safe to-tmr, the effect
    of burst-cnt and of a second node ID, and every wrong setting. Exit code 0; 2 for invalid input.
    """
    from ethermeter import api
    from ethermeter.faults import InputError
    from ethermeter.theory.bus_advice import advice

    (loaded,) = api.load(experiment, overrides=overrides or ()).experiments
    found = advice(loaded.scenarios.at([0] * len(loaded.sweeps)))
    if found is None:
        segment = loaded.document.get("segment")
        given = segment.get("standard") if isinstance(segment, dict) else None
        raise InputError.of(
            str(loaded.path), "segment.standard", str(given), 'expected "10base-t1s"'
        )
    point = {sweep.key: sweep.texts[0] for sweep in loaded.sweeps}
    if as_json:
        print_json(_plain(found, point))
    else:
        _print(found, point)


def _plain(found: "Advice", point: dict[str, str]) -> dict[str, object]:
    bus = found.bus
    return {
        "point": point,
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
                "data_share": each.data_share,
            }
            for each in found.bursts
        ],
        "warnings": list(found.warnings),
    }


def _seconds(time_ps: int | None) -> float | None:
    return None if time_ps is None else time_ps / 1e12


def _print(found: "Advice", point: dict[str, str]) -> None:
    from ethermeter.theory.bus_advice import ranges

    bus = found.bus
    if point:
        at = ", ".join(f"{key} = {value}" for key, value in point.items())
        typer.echo(f"At the first point ({at}):")
    longest = f"{bus.longest_ps / PS_PER_US:g} µs" if bus.is_bounded else "not bounded"
    typer.echo(
        f"{bus.node_count} opportunities in a cycle: empty {bus.empty_ps / PS_PER_US:g} µs,"
        f" longest {longest}"
    )
    phys = "these PHYs" if bus.plca.transmit_ps else "PHYs without latencies (see segment.phy)"
    typer.echo(f"smallest safe to-tmr: {bus.least_opportunity_bits} bit times with {phys}")
    if found.nodes:
        typer.echo("\nLongest times of nodes in µs:")
        rows = [
            [
                each.group,
                ranges([id for ids in each.ids for id in ids]),
                _us(each.opportunity_ps),
                _us(each.attempt_delay_ps),
                _us(each.access_delay_ps),
                _us(each.with_two_ids_ps),
            ]
            for each in found.nodes
        ]
        head = ("group", "node-id", "opportunity", "access from first attempt", "from queue")
        print_table([*head, "from first attempt, with a second ID"], rows)
    if found.bursts:
        typer.echo("\nThe same bus with another burst-cnt at all nodes, times in µs:")
        print_table(
            ["burst-cnt", "longest cycle", "longest access from first attempt", "share of data"],
            [
                [
                    str(each.count),
                    _us(each.longest_ps),
                    _us(each.attempt_delay_ps),
                    number(each.data_share, digits=3),
                ]
                for each in found.bursts
            ],
        )
    if found.warnings:
        typer.echo()
    for text in found.warnings:
        typer.echo(f"warning: {text}")


def _us(time_ps: int | None) -> str:
    return "–" if time_ps is None else f"{time_ps / PS_PER_US:.1f}"
