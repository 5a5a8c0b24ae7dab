"""Records responses and the outcomes of their calls, shows them stage by stage, and replays them.

In: responses as they are dispatched, or a trace file. Out: lines of a trace, and what present tools
make of them. What a line may hold is decided in ``_privacy.py``; nothing is written that it has not
seen.
"""

from toolshape._bound.bound import ObservedResponse, Observer
from toolshape.trace._changes import Change
from toolshape.trace._recorder import Recorder, record_to
from toolshape.trace._replay import Replay, replay
from toolshape.trace._stages import RecordedResponse, Stages, compute_stages, read_trace

__all__ = [
    "Change",
    "ObservedResponse",
    "Observer",
    "RecordedResponse",
    "Recorder",
    "Replay",
    "Stages",
    "compute_stages",
    "read_trace",
    "record_to",
    "replay",
]
