"""The live engine: trials of networks as tests between agents on hosts, what they counted as
observations.

From a line of the plan to its rows: `description` (plan line to test), `trials` (tests one after
the other), `observed` (what came back to rows). `laboratory` is what hosts there are, `agents`
starts agents on this machine, `places` are the ways in which all this is had, `recording` takes
captures meanwhile.
"""

from ethermeter.engines.live.laboratory import Laboratory, Station
from ethermeter.engines.live.places import Hosts, Local, Place
from ethermeter.engines.live.recording import MOST_OCTETS, SNAP_OCTETS, Captures
from ethermeter.engines.live.trials import FOLDER, Underway, Vain, duration_s

__all__ = [
    "FOLDER",
    "MOST_OCTETS",
    "SNAP_OCTETS",
    "Captures",
    "Hosts",
    "Laboratory",
    "Local",
    "Place",
    "Station",
    "Underway",
    "Vain",
    "duration_s",
]
