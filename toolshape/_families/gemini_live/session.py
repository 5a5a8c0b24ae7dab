"""Reads and writes the messages of Gemini's Live API.

The types come from google-genai 3.6.1 (``LiveServerMessage``, ``LiveClientToolResponse``), read on
2026-11-28. The server takes and sends camel case; the SDK's objects are read in snake case, too.
"""

from collections.abc import Sequence
from typing import Any

from toolshape._families.gemini import messages as gemini
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.provider import NOTHING_CUT, Choice, Read, unsupported
from toolshape._families.wire.sessions import NOTHING, SessionCall, SessionEvent, WireFields
from toolshape._records.calls import Call, JsonObject, WireCall, WireMessage
from toolshape._records.result import Result

_KINDS = (
    "setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway",
    "sessionResumptionUpdate",
    "voiceActivity", "voiceActivityDetectionSignal", "error",
)  # fmt: skip


def _get(node: Any, camel: str) -> Any:
    """Return a value under its name in camel case or in snake case."""
    if not isinstance(node, dict):
        return None
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)
    return node.get(camel, node.get(snake))


def read_event(state: JsonObject, event: JsonObject) -> SessionEvent | None:
    """Read one message of the server. A call always comes whole.

    Only a cancellation takes calls back: ``interrupted`` also follows an answer that interrupts.
    """
    if not event:  # an object of the SDK whose kind it does not know
        return NOTHING
    if all(_get(event, kind) is None for kind in _KINDS):
        return None
    text, thinking = _words(_get(event, "serverContent"))
    cancelled = _get(_get(event, "toolCallCancellation"), "ids") or ()
    error = _get(event, "error")
    return SessionEvent(
        calls=tuple(_numbered(state, wire) for wire in _wires(_calls_of(event))),
        withdrawn=tuple(map(str, cancelled)),
        text=text,
        thinking=thinking,
        warning=str(member(error, "message") or error) if error else "",
    )


def _words(content: Any) -> tuple[str, str]:
    """Return what the model says in a message, written or spoken, and what it thinks."""
    said: list[str] = []
    thought: list[str] = []
    for part in _get(_get(content, "modelTurn"), "parts") or ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            (thought if part.get("thought") else said).append(part["text"])
    transcript = _get(_get(content, "outputTranscription"), "text")
    if isinstance(transcript, str):
        said.append(transcript)
    return "".join(said), "".join(thought)


def _calls_of(event: JsonObject) -> list[Any]:
    return _get(_get(event, "toolCall"), "functionCalls") or []


def _numbered(state: JsonObject, wire: WireFields) -> SessionCall:
    """Return a call of a session; ``state`` counts those without an id, which Vertex sends."""
    if wire[0]:
        return SessionCall("", wire)
    state["unnamed"] = state.get("unnamed", 0) + 1
    return SessionCall("", wire, state["unnamed"])


def _wires(calls: Sequence[Any]) -> Sequence[WireFields]:
    wires: list[WireFields] = []
    for call in calls:
        if not isinstance(call, dict):
            continue
        name, arguments = str(call.get("name") or ""), call.get("args") or {}
        raw = {"toolCall": {"functionCalls": [call]}}
        wires.append((str(call.get("id") or ""), name, arguments, raw))
    return wires


def _calls_of_history(event: JsonObject) -> list[Any]:
    """Return the calls in a history with which a client begins a session."""
    turns = _get(_get(event, "clientContent"), "turns") or ()
    parts = [part for turn in turns for part in _get(turn, "parts") or ()]
    return [call for part in parts if (call := gemini.function_call(part)) is not None]


def incomplete(state: JsonObject) -> Sequence[SessionCall]:  # noqa: ARG001 - a call comes whole
    return ()


def _as_events(body: Any) -> list[JsonObject] | None:
    """Return the messages of a session that hold calls; ``None`` if there is any other."""
    plain = to_plain_json(body)
    events = plain if isinstance(plain, list) else [plain]
    if not events or not all(isinstance(event, dict) and _holds_calls(event) for event in events):
        return None
    return events


def _holds_calls(event: JsonObject) -> bool:
    return _get(event, "toolCall") is not None or bool(_calls_of_history(event))


def recognises(body: Any) -> bool:
    return _as_events(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls of one message, or of those that a session has kept."""
    events = _as_events(body)
    if events is None:
        return None
    calls = [call for event in events for call in _calls_of(event) or _calls_of_history(event)]
    return [*events], _wires(calls), None, NOTHING_CUT, True


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Write the tools of ``config=``.

    Raises:
        ExportError: The request asks for a choice, which a session of Live has none of.
    """
    if choice.names or choice.mode not in (None, "auto"):
        message = "a Live session has no choice of tools: send only the tools that may be called"
        raise unsupported(choice, "choice", message, "LiveConnectConfig of google-genai 3.6.1")
    if choice.parallel is False:
        message = "a Live session cannot forbid parallel calls: leave parallel= out"
        raise unsupported(choice, "parallel", message, "LiveConnectConfig of google-genai 3.6.1")
    return {"tools": tools}


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write calls as the content of a turn, for a history that begins a session."""
    turn = {"turns": gemini.write_calls(calls), "turnComplete": False}
    return [{"clientContent": turn}] if calls else []


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write one message with all results, each with the id of its call.

    A call that came without an id is answered without one: Vertex knows no ids in results
    (livekit/agents#2194, read on 2026-11-28).
    """
    answers: list[JsonObject] = []
    in_words = [result._replace(parts=()) for result in results]  # the text names images and files
    for message in gemini.write_results(in_words):
        for part, result in zip(message["parts"], results, strict=True):
            named = {} if _came_without_id(result.call) else {"id": result.call.id}
            answers.append({**named, **part["functionResponse"]})
    return [{"toolResponse": {"functionResponses": answers}}] if answers else []


def _came_without_id(call: Call) -> bool:
    calls = _calls_of(call.raw) if isinstance(call.raw, dict) else []
    return call.provider == "gemini-live" and bool(calls) and not calls[0].get("id")
