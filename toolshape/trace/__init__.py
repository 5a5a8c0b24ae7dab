"""Traces: responses and what became of their calls, recorded, looked at stage by stage, and planned again."""

from toolshape.trace.changes import Change
from toolshape.trace.recorder import Recorder, record
from toolshape.trace.replay import Replay, replay
from toolshape.trace.stages import Recorded, Stages, recorded, stages

__all__ = ["Change", "Recorded", "Recorder", "Replay", "Stages", "record", "recorded", "replay", "stages"]
