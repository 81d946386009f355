"""A small experiment, its file, and the tables of a run."""

import ethermeter as em

TABLES = tuple(f"{name}.parquet" for name in ("stations", "media", "station-batches", "histograms"))

SMALL_RUN = em.segment(
    "dix-10",
    title="A small segment",
    seed=7,
    round_trip="12 us",
    clusters=4,
    stations=em.stations(
        "host",
        count=4,
        frames="64 B",
        frames_include_fcs=False,
        arrivals="saturated",
        service={"uniform": ["60 us", "90 us"]},
        after_attempt_limit="resume",
    ),
    vary={"stations.count": [1, 2, 5], "stations.frames": ["64 B", "1536 B"]},
    phases={"settle": "10 ms", "transmit": "100 ms", "measure": "middle 50 ms", "drain": "0 s"},
    run={"replications": 5},
)


def write_experiment(directory, changes=None):
    """Write the small experiment with other values, by dotted key."""
    return SMALL_RUN.changed(changes).save(directory / "small.toml")


def contents(directory):
    """What all tables of a run hold."""
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.parquet"))}
