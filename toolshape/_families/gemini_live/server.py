"""Imitates the server of Gemini's Live API, with the types of google-genai 3.6.1 (2026-11-28)."""

from collections.abc import Collection

from toolshape._families.gemini.server import read_request
from toolshape._families.wire.server import Completion
from toolshape._families.wire.server_json import as_list, as_object, split_text
from toolshape._families.wire.sessions import ClientMessage, SessionServer
from toolshape._records.calls import JsonObject

_EVIDENCE = "LiveClientToolResponse of google-genai 3.6.1, 2026-11-28"


def _read(message: JsonObject, waiting: Collection[str]) -> ClientMessage:
    if "setup" in message:
        tools = read_request(as_object(message["setup"])).tools
        return ClientMessage(tools=tools, said=({"setupComplete": {}},))
    if "clientContent" in message:
        is_over = as_object(message["clientContent"]).get("turnComplete", True) is True
        return ClientMessage(asks=is_over)
    if "toolResponse" in message:
        answers = as_list(as_object(message["toolResponse"]).get("functionResponses"))
        ids = tuple(str(as_object(answer).get("id")) for answer in answers)
        unknown = [each for each in ids if each not in waiting]
        if unknown:
            words = f"no call waits for an answer of the id {unknown[0]!r}"
            return ClientMessage(refusal=("unknown_id", words, _EVIDENCE))
        return ClientMessage(answered=ids)
    return ClientMessage(asks="text" in as_object(message.get("realtimeInput")))


def _respond(said: Completion) -> list[JsonObject]:
    """Write a response as the server's messages: calls come whole, and the turn waits for them."""
    messages: list[JsonObject] = [
        {"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": piece}]}}}
        for piece in split_text(said.text)
        if piece
    ]
    if said.calls:
        calls = [
            {"id": call.id, "name": call.wire_name, "args": call.arguments} for call in said.calls
        ]
        return [*messages, {"toolCall": {"functionCalls": calls}}]
    ends = ("generationComplete", "turnComplete")
    return [*messages, *({"serverContent": {end: True}} for end in ends)]


SERVER = SessionServer(
    opens=lambda _: [], read=_read, respond=_respond, refuse=None, sends_cut_calls=False
)
