"""Media within networks have the metrics of segments, by medium and by station."""

from dataclasses import replace

import ethermeter as em
import numpy as np
import pytest
from ethermeter.analysis import media
from ethermeter.entities import names_of
from ethermeter.metrics import Metric
from ethermeter.results.query import MissingError
from ethermeter.studies import pages
from measured_trials import only_trial
from msgspec import structs

STATIONS, OCTETS = 5, 700
KEYS = {"phases": {"settle": "5 ms", "transmit": "400 ms", "measure": "last 390 ms"}}
CABLE = {"standard": "ieee-10", "length": "500 m"}
OF_MEDIUM = (
    *(Metric.UTILISATION, Metric.BIT_RATE, Metric.BIT_RATE_SD, Metric.JAIN_INDEX, Metric.DISCARDED),
    *(
        Metric.ACCESS_DELAY,
        Metric.TRANSMISSION_DELAY,
        Metric.TRANSMISSION_DELAY_SD,
        Metric.DELAY_P99,
    ),
    *(Metric.COLLISIONS_PER_FRAME, Metric.ATTEMPTS_PER_FRAME, Metric.OFFERED_LOAD_Q),
    *(Metric.TIME_FRAME, Metric.TIME_COLLISION, Metric.RESPONSE_TIME),
)
ALONE = em.segment(
    CABLE["standard"],
    length=CABLE["length"],
    stations=[
        em.stations(f"s{number}", count=1, frames=f"{OCTETS} B", arrivals={"poisson": "350 /s"})
        for number in range(STATIONS)
    ],
    **KEYS,
)


def network(*, segments=("cable",)):
    """The stations of `ALONE` on each segment, and two hosts with a link of their own."""
    hosts, links, flows = [], [], []
    for segment in segments:
        names = [f"{segment}-{number}" for number in range(STATIONS)]
        hosts += names
        links += [(name, segment) for name in names]
        flows += [
            em.flow(one, one, other, frames=f"{OCTETS} B", arrivals={"poisson": "350 /s"})
            for one, other in zip(names, [*names[1:], names[0]], strict=True)
        ]
    return em.network(
        rate="100 Mb/s",
        segments=[{"name": segment, **CABLE} for segment in segments],
        hosts=[*hosts, "x", "y"],
        links=[*links, ("x", "y")],
        flows=[
            *flows,
            em.flow("far", "x", "y", frames="64 B", arrivals={"regular": "1 ms"}),
        ],
        **KEYS,
    )


def with_the_draws_of(experiment, other):
    """Results of the only trial of an experiment, with the seed and the medium of another one."""
    given, trial = only_trial(other), only_trial(experiment)
    (theirs,), (mine,) = given.scenario.media, trial.scenario.media
    stations = [
        structs.replace(of, node=own.node)
        for of, own in zip(theirs.stations, mine.stations, strict=True)
    ]
    medium = structs.replace(theirs, name=mine.name, stations=tuple(stations))
    made = structs.replace(trial.scenario, media=(medium,))
    return results_of(replace(trial, seed=given.seed, scenario=made))


def results_of(trial):
    from ethermeter.engines.simulation import result_of, simulated
    from ethermeter.results.query import Results
    from ethermeter.trial import core_trial

    counts, core_s = simulated(core_trial(trial.scenario, id=trial.id, seed=trial.seed))
    return Results.of_trial(trial, result_of(trial.scenario, counts, core_s=core_s))


@pytest.fixture(scope="module")
def within():
    return with_the_draws_of(network(), ALONE)


@pytest.fixture(scope="module")
def alone():
    return results_of(only_trial(ALONE))


def test_a_segment_in_a_network_has_the_values_of_the_segment_alone(within, alone):
    for metric in OF_MEDIUM:
        value = within.value(metric, "cable")
        assert value == pytest.approx(alone.value(metric), rel=1e-12), metric
    assert within.value(Metric.COLLISIONS_PER_FRAME, "cable") > 0.05


def test_so_have_its_stations(within, alone):
    stations, others = names_of("station", within.scenario), names_of("station", alone.scenario)
    assert stations == [f"cable-{number}" for number in range(STATIONS)]
    for metric in (Metric.BIT_RATE, Metric.ACCESS_DELAY, Metric.COLLISIONS_PER_FRAME):
        values = [within.value(metric, station) for station in stations]
        assert values == [alone.value(metric, station) for station in others], metric


def test_a_value_of_one_medium_is_that_of_all_its_stations(within):
    assert within.value(Metric.UTILISATION) == within.value(Metric.UTILISATION, "cable")
    for entity in ("nowhere", "far"):
        with pytest.raises(MissingError, match=f"no {entity} in"):
            within.value(Metric.UTILISATION, entity)


def test_a_metric_of_flows_stays_one_of_flows(within):
    # Stations count loss, too.
    assert within.value(Metric.LOSS, "far") == 0
    assert len(within.each(Metric.LOSS)) == STATIONS + 1
    with pytest.raises(MissingError, match="no cable in"):
        within.value(Metric.LOSS, "cable")


def test_two_media_have_values_of_their_own_and_none_together():
    results = results_of(only_trial(network(segments=("left", "right"))))
    left, right = (results.value(Metric.UTILISATION, name) for name in ("left", "right"))
    assert 0 < left != right > 0
    with pytest.raises(MissingError, match="no utilisation of all"):
        results.value(Metric.UTILISATION)
    rates = results.each(Metric.BIT_RATE)
    assert len(rates) == 2 * STATIONS
    assert rates[:STATIONS].sum() == pytest.approx(left * 10e6)
    assert rates[STATIONS:].sum() == pytest.approx(right * 10e6)
    assert results.value(Metric.BIT_RATE, "right-0") == rates[STATIONS]


def test_a_run_has_rows_by_medium_and_estimates(tmp_path):
    two = network(segments=("left", "right")).changed({"run": {"replications": 3}})
    run = em.load(two).run(out=tmp_path / "run", jobs=1)
    frame = run.frame("utilisation", by="medium", library="polars")
    assert frame["entity"].to_list() == ["left", "right"] * 3
    points = media.estimate(run.trials(), run.directory, [Metric.UTILISATION])
    assert [point.point["stations"] for point in points] == ["left", "right"]
    for point, name in zip(points, ("left", "right"), strict=True):
        values = frame.filter(frame["entity"] == name)["value"].to_numpy()
        estimate = point.estimates[Metric.UTILISATION]
        assert estimate.value == pytest.approx(values.mean())
        assert estimate.error == pytest.approx(values.std(ddof=1) / np.sqrt(3))
    times = run.histograms(library="polars")
    access = times.filter(times["time"] == "access_delay")
    assert set(access["entity"]) == {"left", "right"}
    assert "Shared media" in pages.write_report(run.path).read_text(encoding="utf-8")
