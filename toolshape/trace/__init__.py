"""Records responses and the outcomes of their calls, shows them stage by stage, and replays them."""

from toolshape._bound import Observer, Seen
from toolshape.trace._changes import Change
from toolshape.trace._recorder import Recorder, record
from toolshape.trace._replay import Replay, replay
from toolshape.trace._stages import Recorded, Stages, recorded, stages

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
