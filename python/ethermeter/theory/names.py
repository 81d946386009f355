"""Names of the models, and the words of the table `[theory]`."""

from typing import Literal, get_args

ROUND_TRIP, SLOT_TIME = "round trip", "slot time"
"""What a contention slot may be, besides a time."""

Model = Literal[
    "metcalfe-boggs-1976",
    "almes-lazowska-1979",
    "tobagi-hunt-1980-non-persistent",
    "tobagi-hunt-1980-one-persistent",
    "tobagi-hunt-1980-p-persistent",
    "tobagi-hunt-1980-finite",
    "lam-1980",
    "bux-1981-csma-cd",
    "bux-1981-token-ring",
    "coyle-liu-1983",
    "takagi-kleinrock-1985",
    "takagi-kleinrock-1985-finite",
    "tasaka-1986",
]
"""A model that can answer an experiment."""

MODELS: tuple[str, ...] = get_args(Model)
"""Their names, in the order of publication."""

NOT_OF_NETWORKS = "Theory is not available for networks: its models are of shared media."
