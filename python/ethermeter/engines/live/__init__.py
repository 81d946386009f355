"""The live engine: trials as tests between agents on hosts, and their counts as rows.

From a line of the plan to its rows: `description` (plan line to test), `trials` (tests one after
the other), `counts` (results to counts), `observed` (counts to rows) with `cautions`. `segments`
are trials on a shared medium, which is emulated. `laboratory` is the hosts and how they are
reached, `agents` starts agents on this machine, `places` are hosts of a laboratory, testbeds and
loopback, `recording` takes captures during a trial.
"""

from ethermeter.engines.live.laboratory import Laboratory
from ethermeter.engines.live.places import Hosts, Kept, Local, Place
from ethermeter.engines.live.recording import MOST_OCTETS, SNAP_OCTETS, Captures
from ethermeter.engines.live.trials import FOLDER, FailedTrial, Underway, duration_s

__all__ = [
    "FOLDER",
    "MOST_OCTETS",
    "SNAP_OCTETS",
    "Captures",
    "FailedTrial",
    "Hosts",
    "Kept",
    "Laboratory",
    "Local",
    "Place",
    "Underway",
    "duration_s",
]
