"""Records responses and the outcomes of their calls, shows them stage by stage, and replays them."""

import typing

from toolshape._bound import ObservedResponse, Observer
from toolshape._deprecation import resolve_renamed_attribute
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

_RENAMED = {
    "Recorded": "RecordedResponse",
    "Seen": "ObservedResponse",
    "record": "record_to",
    "recorded": "read_trace",
    "stages": "compute_stages",
}
"""Maps each deprecated name to its replacement. Version 0.2 removes the deprecated names."""


if not typing.TYPE_CHECKING:  # a type checker must still report misspelt and old names

    def __getattr__(name: str) -> typing.Any:
        return resolve_renamed_attribute(__name__, _RENAMED, name)
