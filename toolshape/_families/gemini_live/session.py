"""Reads and writes the messages of Gemini's Live API.

The types come from google-genai 3.6.1 (``LiveServerMessage``, ``LiveClientToolResponse``), read on
2026-11-28. The server takes and sends camel case; the SDK's objects are read in snake case, too.
"""

from collections.abc import Sequence
from typing import Any

from toolshape._families.gemini import messages as gemini
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.ids import made_up_id
from toolshape._families.wire.provider import NOTHING_CUT, Choice, Read, unsupported
from toolshape._families.wire.sessions import NOTHING, SessionCall, SessionEvent
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.result import Result

_KINDS = (
    "setupComplete", "serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "goAway", "sessionResumptionUpdate",
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
        calls=tuple(SessionCall("", wire) for wire in _wires(_calls_of(event), state)),
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


def _wires(calls: Sequence[Any], state: JsonObject) -> Sequence[tuple[str, str, Any, Any]]:
    """Read calls; ``state`` counts those without an id, which Vertex sends."""
    wires: list[tuple[str, str, Any, Any]] = []
    for call in calls:
        if not isinstance(call, dict):
            continue
        name, arguments = str(call.get("name") or ""), call.get("args") or {}
        call_id = str(call.get("id") or "")
        if not call_id:
            state["unnamed"] = state.get("unnamed", 0) + 1
            call_id = made_up_id(name, arguments, state["unnamed"])
        wires.append((call_id, name, arguments, {"toolCall": {"functionCalls": [call]}}))
    return wires


def _calls_of_history(event: JsonObject) -> list[Any]:
    """Return the calls in a history with which a client begins a session."""
    turns = _get(_get(event, "clientContent"), "turns") or ()
    parts = [part for turn in turns for part in _get(turn, "parts") or ()]
    return [call for part in parts if (call := gemini.function_call(part)) is not None]


def incomplete(state: JsonObject) -> Sequence[SessionCall]:  # noqa: ARG001 - a call comes whole
    return ()


def _as_event(body: Any) -> JsonObject | None:
    plain = to_plain_json(body)
    if not isinstance(plain, dict):
        return None
    return plain if _get(plain, "toolCall") is not None or _calls_of_history(plain) else None


def recognises(body: Any) -> bool:
    return _as_event(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls of one message."""
    event = _as_event(body)
    if event is None:
        return None
    calls = _calls_of(event) or _calls_of_history(event)
    return [event], _wires(calls, {}), None, NOTHING_CUT, True


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
    """Write one message with all results, each with the id of its call."""
    answers: list[JsonObject] = []
    named = [result._replace(parts=()) for result in results]  # the text names images and files
    for message in gemini.write_results(named):
        for part, result in zip(message["parts"], results, strict=True):
            answers.append({"id": result.call.id, **part["functionResponse"]})
    return [{"toolResponse": {"functionResponses": answers}}] if answers else []
