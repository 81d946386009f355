"""The store: run directories, written trial by trial, so that no finished trial is lost."""

from ethermeter.store.directory import RunDirectory
from ethermeter.store.files import make_folder, write_whole
from ethermeter.store.recorder import Recorder, RunError

__all__ = ["Recorder", "RunDirectory", "RunError", "make_folder", "write_whole"]
