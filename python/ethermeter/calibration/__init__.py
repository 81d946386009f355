"""Calibration: from measured delays and rates to a network's parameters, and to predictions."""

from ethermeter.calibration.calibrate import Calibration, calibrate
from ethermeter.calibration.data import Datum, read_data
from ethermeter.calibration.document import NetworkFile, read_network
from ethermeter.calibration.judge import Judged, judge
from ethermeter.calibration.model import Model, read_model
from ethermeter.calibration.predict import Predicted, Prediction, predict

__all__ = [
    "Calibration",
    "Datum",
    "Judged",
    "Model",
    "NetworkFile",
    "Predicted",
    "Prediction",
    "calibrate",
    "judge",
    "predict",
    "read_data",
    "read_model",
    "read_network",
]
