"""Run directories made of drawn numbers with known statistics: no simulator behind them, only the
files of `docs/reference/run-directory.md`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ethermeter as em
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ethermeter.metrics import Metric
from made_results import Value, histograms_of, values_of
from segments import segment, table_of
from station_sums import Sums, graphs

FIXED = ("64 B", "128 B", "256 B", "512 B", "1024 B", "1536 B", "2048 B", "3072 B", "4000 B")
BIMODAL = ("64 B", *(f"64 B x {8 - longs} + 1536 B x {longs}" for longs in range(1, 8)), "1536 B")
STUDY = {
    "I-1": (FIXED, 23, 0.4),
    "I-2": (FIXED, 24, 1.0),
    "I-3": (FIXED, 24, 3.0),
    "I-4": (BIMODAL, 24, 1.1),
    "I-5": (BIMODAL, 24, 1.0),
}
WINDOW_S = 10.0
BATCHES = 20


@dataclass
class Recorder:
    """Collects trials and tables, then writes them."""

    plan: list[dict[str, Any]] = field(default_factory=list)
    values: list[tuple[str, list[Value], str]] = field(default_factory=list)
    batches: list[tuple[str, Sums]] = field(default_factory=list)
    histograms: list[tuple[str, str, float, float, int]] = field(default_factory=list)


def mean_octets(frames: str) -> float:
    """Mean length of a text such as "64 B x 7 + 1536 B x 1"."""
    parts = [part.strip().split(" ") for part in frames.split("+")]
    weights = [float(part[3]) if len(part) > 2 else 1.0 for part in parts]
    return sum(float(part[0]) * weight for part, weight in zip(parts, weights, strict=True)) / sum(
        weights
    )


def scenario(count: int, octets: float) -> dict[str, Any]:
    """A scenario with the study's constants."""
    host = {
        "name": "host",
        "points": [0] * count,
        "frames": {"kind": "fixed", "bits": int((octets + 4) * 8)},
        "service": {"kind": "uniform", "low_ps": 60000000, "high_ps": 90000000},
        "after_attempt_limit": "resume",
    }
    phases = {
        "begin_ps": 5 * 10**12,
        "stop_ps": 25 * 10**12,
        "measure_from_ps": 10**13,
        "measure_to_ps": 2 * 10**13,
        "end_ps": 3 * 10**13,
        "spread_ps": 0,
    }
    made = segment(host, delay_ps=[[1000000]], phases=phases, batches=BATCHES)
    table: dict[str, Any] = table_of(made)
    return table


def scenario_of_parts(table: dict[str, Any], groups: dict[str, list[int]]) -> None:
    """Divide the only group of a scenario into groups at attachment points."""
    (node,), (medium,), (flow,) = table["nodes"], table["media"], table["flows"]
    (stations,) = medium["stations"]
    table["nodes"] = [{**node, "name": name, "count": len(at)} for name, at in groups.items()]
    medium["stations"] = [{**stations, "node": name, "points": at} for name, at in groups.items()]
    table["flows"] = [{**flow, "name": name, "from": name} for name in groups]


def efficiency(count: int, octets: float, reach: float) -> float:
    """A curve of the study's kind: full until three stations, then falling with their number, more
    for short frames.
    """
    cycle_s = (octets + 24) * 8e-7
    if count <= 2:
        return min(0.96, count * cycle_s / (cycle_s + 75e-6))
    lost_s = 12.0e-6 * reach * (1 + count / 60)
    return cycle_s / (cycle_s + lost_s)


def add(
    recorder: Recorder,
    identity: str,
    series: str,
    point: dict[str, str],
    count: int,
    frames: str,
    *,
    reach: float,
    rng: np.random.Generator,
    replication: int = 0,
    caution: str = "",
    per_station: bool = True,
) -> None:
    """Draw one trial."""
    octets = mean_octets(frames)
    cycle_s = (octets + 24) * 8e-7
    share = efficiency(count, octets, reach) / count
    per_batch = share * WINDOW_S / BATCHES / cycle_s
    uneven = 1 + (0.9 / np.sqrt(count) if count > 2 else 0.0) * 0.6 * rng.standard_normal(
        (BATCHES, count)
    )
    counted = np.maximum(
        np.round(per_batch * uneven * count / np.maximum(uneven.sum(axis=1, keepdims=True), 1e-9)),
        1,
    )
    delay_s = count * cycle_s / efficiency(count, octets, reach)
    sums = Sums(
        frames=counted,
        charged_s=counted * cycle_s,
        delay_sum_s=counted * delay_s * (1 + 0.02 * rng.standard_normal(counted.shape)),
        delay_square_sum_s2=counted * delay_s**2 * (2.0 + 0.1 * count),
        window_s=np.asarray(WINDOW_S),
        line_rate_bps=np.asarray(1e7),
    )
    recorder.plan.append(
        {
            "id": identity,
            "series": series,
            "replication": replication,
            "seed": len(recorder.plan) + 1,
            "engine": "simulation",
            "point": point,
            "scenario": scenario(count, octets),
        }
    )
    total = Sums(
        sums.frames.sum(axis=0),
        sums.charged_s.sum(axis=0),
        sums.delay_sum_s.sum(axis=0),
        sums.delay_square_sum_s2.sum(axis=0),
        sums.window_s,
        sums.line_rate_bps,
    )
    values = {metric.value: float(value) for metric, value in graphs(total).items()}
    busy = values["utilisation"]
    collisions = 0.0 if count <= 2 else 0.1 * count / 3
    values |= {
        "goodput": busy * 1e7 * (octets + 4) / (octets + 24),
        "collisions_per_frame": collisions,
        "loss": 0.0,
        "delay_p50": delay_s / 2,
        "delay_p90": delay_s * 3,
        "delay_p99": delay_s * 6,
        "delay_max": delay_s * 8,
        "time_preamble": busy * 8 / (octets + 24),
        "time_gap": busy * 12 / (octets + 24),
        "time_frame": busy * (octets + 4) / (octets + 24),
        "time_collision": (1 - busy) * 0.7,
        "time_idle": (1 - busy) * 0.3,
    }
    made: list[Value] = [(identity, -1, Metric(name), value) for name, value in values.items()]
    if per_station:
        shares = (total.charged_s / WINDOW_S).tolist()
        made += [(identity, at, Metric.UTILISATION, share) for at, share in enumerate(shares)]
    recorder.values.append((identity, made, caution))
    recorder.batches.append((identity, sums))
    frames = int(total.frames.sum())
    recorder.histograms += [
        (identity, "transmission_delay", delay_s * low, delay_s * low * 2, frames // share + 1)
        for low, share in ((0.25, 2), (0.5, 4), (1.0, 8), (4.0, 64))
    ]


def write(
    recorder: Recorder, path: Path, text: str, *, files: dict[str, str] | None = None
) -> Path:
    """Write the run directory."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "plan.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in recorder.plan), encoding="utf-8"
    )
    (path / "experiment.toml").write_text(text, encoding="utf-8")
    for name, text in (files or {}).items():
        target = path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    provenance = {
        "ethermeter": "0.1.0",
        "seed": 1988,
        "host": "<lab & co>",
        "command": "ethermeter run x.toml --set \"a\"='<b>'",
        "finished": "2026-01-01T00:00:00+00:00",
    }
    (path / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    cautions = {identity: caution for identity, _, caution in recorder.values}
    rows = [row for _, of_trial, _ in recorder.values for row in of_trial]
    pq.write_table(values_of(rows, cautions), path / "values.parquet")
    pq.write_table(_batch_table(recorder.batches), path / "station-batches.parquet")
    pq.write_table(histograms_of(recorder.histograms), path / "histograms.parquet")
    return path


def _batch_table(batches: Sequence[tuple[str, Sums]]) -> pa.Table:
    def flat(pick: Any) -> Any:
        return np.concatenate([pick(sums).ravel() for _, sums in batches])

    return pa.table(
        {
            "trial": pa.array(
                np.repeat(
                    [identity for identity, _ in batches], [sums.frames.size for _, sums in batches]
                )
            ),
            "batch": np.concatenate(
                [
                    np.repeat(np.arange(BATCHES, dtype=np.int32), sums.frames.shape[1])
                    for _, sums in batches
                ]
            ),
            "station": np.concatenate(
                [
                    np.tile(np.arange(sums.frames.shape[1], dtype=np.int32), BATCHES)
                    for _, sums in batches
                ]
            ),
            "frames": flat(lambda sums: sums.frames.astype(np.uint32)),
            "charged_ps": flat(lambda sums: np.round(sums.charged_s * 1e12).astype(np.uint64)),
            "delay_ps": flat(lambda sums: sums.delay_sum_s * 1e12),
            "delay_ps2": flat(lambda sums: sums.delay_square_sum_s2 * 1e24),
        }
    )


def study(
    path: Path,
    *,
    replications: int = 1,
    series: Sequence[str] = tuple(STUDY),
    counts: Sequence[int] | None = None,
) -> Path:
    """A run with the shape of the 1988 study."""
    recorder, rng = Recorder(), np.random.default_rng(1988)
    for name in series:
        lengths, most, reach = STUDY[name]
        for frames in lengths:
            for count in counts or range(1, most + 1):
                for replication in range(replications):
                    identity = f"{name.lower()}/{len(recorder.plan):05d}"
                    caution = (
                        "illegal-frame-length" if frames in ("2048 B", "3072 B", "4000 B") else ""
                    )
                    add(
                        recorder,
                        identity,
                        name,
                        {"stations.count": str(count), "stations.frames": frames},
                        count,
                        frames,
                        reach=reach,
                        rng=rng,
                        replication=replication,
                        caution=caution,
                        per_station=replications < 5,
                    )
    files = {f"experiments/{name.lower()}.toml": experiment(name) for name in series}
    return write(recorder, path, experiment(series[0]), files=files)


def other(path: Path, keys: dict[str, tuple[str, ...]]) -> Path:
    """A run of no study: every combination of the values of some keys."""
    recorder, rng = Recorder(), np.random.default_rng(4)
    points: list[dict[str, str]] = [{}]
    for key, values in keys.items():
        points = [{**point, key: value} for point in points for value in values]
    for number, point in enumerate(points):
        add(
            recorder,
            f"other/{number:05d}",
            "Fish & <chips>",
            point,
            5 + number,
            "512 B",
            reach=1.0,
            rng=rng,
        )
    return write(
        recorder, path, 'title = "A <b>bold</b> title"\n[sources]\nsegment = "standard: 802.3"\n'
    )


def parted(
    path: Path,
    keys: dict[str, tuple[str, ...]],
    groups: dict[str, list[int]],
    *,
    replications: int = 3,
) -> Path:
    """A run whose stations are of several groups or at several places; only their bit rate and
    delay are observed.
    """
    recorder, rng = Recorder(), np.random.default_rng(7)
    points: list[dict[str, str]] = [{}]
    for key, values in keys.items():
        points = [{**point, key: value} for point in points for value in values]
    count = sum(map(len, groups.values()))
    for point in points:
        for replication in range(replications):
            add(
                recorder,
                f"parted/{len(recorder.plan):05d}",
                "parted",
                point,
                count,
                "512 B",
                reach=1.0,
                rng=rng,
                replication=replication,
            )
            trial = recorder.plan[-1]
            scenario_of_parts(trial["scenario"], groups)
            identity, made, _ = recorder.values[-1]
            for metric, scale in ((Metric.BIT_RATE, 1e6), (Metric.TRANSMISSION_DELAY, 1e-3)):
                of_each = scale * (1 + np.arange(count) + 0.1 * rng.random(count))
                made += [(identity, at, metric, value) for at, value in enumerate(of_each.tolist())]
    return write(recorder, path, 'title = "Parts"\n')


def located(
    path: Path,
    distributions: dict[str, list[int]],
    coordinates_us: Sequence[float],
    *,
    frames: Sequence[str] = ("512 B",),
    key: str = "stations.per_cluster",
    study: str | None = None,
) -> Path:
    """A run with stations along a cable without taps: a station's bit rate is 0.1 Mb/s and 0.01
    Mb/s for every µs from its first place.

    Its delay is 1 ms and 0.1 ms for every µs; the three replications are 0.9, 1 and 1.1 times as
    much.
    """
    recorder, rng = Recorder(), np.random.default_rng(11)
    for length in frames:
        for text, places in distributions.items():
            for replication in range(3):
                count = len(places)
                point = {key: text, "stations.frames": length}
                add(
                    recorder,
                    f"located/{len(recorder.plan):05d}",
                    "located",
                    point,
                    count,
                    length,
                    reach=1.0,
                    rng=rng,
                    replication=replication,
                )
                (medium,) = recorder.plan[-1]["scenario"]["media"]
                medium["delay_ps"] = [
                    [round(1e6 * abs(here - there)) for there in coordinates_us]
                    for here in coordinates_us
                ]
                medium["stations"][0]["points"] = places
                identity, made, _ = recorder.values[-1]
                at_us = np.array([coordinates_us[place] for place in places])
                for metric, base, slope in (
                    (Metric.BIT_RATE, 1e5, 1e4),
                    (Metric.TRANSMISSION_DELAY, 1e-3, 1e-4),
                ):
                    of_each = (base + slope * at_us) * (0.9 + 0.1 * replication)
                    made += [
                        (identity, at, metric, value) for at, value in enumerate(of_each.tolist())
                    ]
    write(recorder, path, 'title = "Located"\n')
    if study:
        provenance = json.loads((path / "provenance.json").read_text(encoding="utf-8"))
        (path / "provenance.json").write_text(
            json.dumps({**provenance, "study": study}), encoding="utf-8"
        )
    return path


def experiment(series: str) -> str:
    """The file of a series of the study, with sources as it gives them."""
    sources = {
        "stations.service": "fitted on two published numbers <script>alert(1)</script>",
        "phases": "Boggs, Mogul and Kent 1988, section 3.3",
    }
    title = f"Measured capacity of an Ethernet, figure {series}"
    made = em.segment("dix-10", title=title, seed=1988, stations=[], sources=sources)
    return made.changed(stations=None).text()
