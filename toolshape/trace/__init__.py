"""Traces: responses and what became of their calls, recorded, looked at stage by stage, and planned again."""

from toolshape.bound import Observer, Seen
from toolshape.trace.changes import Change
from toolshape.trace.recorder import Recorder, record
from toolshape.trace.replay import Replay, replay
from toolshape.trace.stages import Recorded, Stages, recorded, stages

__all__ = [
    "Change",
    "Observer",
    "Recorded",
    "Recorder",
    "Replay",
    "Seen",
    "Stages",
    "record",
    "recorded",
    "replay",
    "stages",
]
