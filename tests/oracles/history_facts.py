"""Finds what a request says: its texts, calls, results and media, read by the shapes of the SDKs' types.

Nothing here is toolshape's: the lane *histories* compares what two requests say, so its reading must not be ours. The
keys are those of openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0, botocore 1.44.5 and mistralai 3.7.0.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KEYS", "Fact", "facts_of"]

Json = Any


@dataclass
class Fact:
    """One thing that a request says.

    ``kind`` is text, reasoning, call, result, media or own (what only the provider knows). ``path`` is where it stands:
    the number of the message, and the place in it. ``beside`` holds the keys that stand next to it and say more.
    """

    kind: str
    path: str
    role: str
    value: Json = None
    name: str = ""
    call_id: str = ""
    is_error: bool = False
    pieces: "list[Fact]" = field(default_factory=list)
    beside: dict[str, Json] = field(default_factory=dict)


KEYS = {
    "openai": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents", "bedrock": "messages",
    "mistral": "messages", "vertex": "contents", "cohere": "messages", "ollama": "messages",
}  # fmt: skip


def facts_of(provider: str, request: dict[str, Json]) -> list[Fact]:
    """Everything that a request says, in its order; the system prompt first where it stands beside the messages."""
    found: list[Fact] = []
    system = list(_SYSTEMS[provider](request))
    for at, text in enumerate(system):
        found.append(Fact("text", f"messages[0].[{at}]", "system", text))
    for at, message in enumerate(request[KEYS[provider]], 1 if system else 0):
        for fact in _READERS[provider](message):
            fact.path = f"messages[{at}].{fact.path}" if fact.path else f"messages[{at}]"
            found.append(fact)
    return found


def _beside(block: dict[str, Json], *known: str) -> dict[str, Json]:
    return {
        key: block[key]
        for key in block
        if key not in known and block[key] not in (None, "", [], {}, False)
    }


def _in_data(data: Json) -> bytes:
    return data if isinstance(data, bytes) else base64.b64decode(data)


def _at_url(url: str) -> dict[str, Json]:
    """What a URL holds, or the URL."""
    if not url.startswith("data:"):
        return {"url": url}
    head, _, data = url.partition(",")
    return {"type": head[len("data:") :].partition(";")[0], "data": _in_data(data)}


def _media(place: str, value: dict[str, Json], path: str, role: str, **beside: Json) -> Fact:
    """A medium: ``place`` is image, file or sound where the provider has a form for each, else nothing."""
    return Fact("media", path, role, value, place, beside=beside)


# OpenAI's Chat Completions, and Mistral's.


def _chat(message: dict[str, Json]) -> Iterator[Fact]:
    role = {"developer": "system", "function": "tool"}.get(message["role"], message["role"])
    content = message.get("content")
    if role == "tool":
        pieces = list(_chat_content(content, role))
        yield Fact(
            "result",
            "",
            role,
            name=message.get("name", ""),
            call_id=message.get("tool_call_id") or "",
            pieces=pieces,
        )
        return
    for key in ("reasoning_content", "reasoning"):
        if message.get(key):
            yield Fact("reasoning", key, role, message[key])
    yield from _chat_content(content, role)
    if message.get("refusal"):
        yield Fact("text", "refusal", role, message["refusal"])
    for key in ("audio", "annotations", "name"):
        if message.get(key):
            yield Fact("own", key, role, message[key])
    if legacy := message.get("function_call"):
        yield Fact("call", "function_call", role, _parsed(legacy["arguments"]), legacy["name"])
    for at, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        if not function:
            custom = call["custom"]
            yield Fact(
                "call",
                f"tool_calls[{at}]",
                role,
                custom["input"],
                custom["name"],
                call.get("id") or "",
            )
            continue
        beside = _beside(call, "id", "type", "function", "index")
        arguments = _parsed(function.get("arguments"))
        call_id = call.get("id") or ""
        yield Fact(
            "call", f"tool_calls[{at}]", role, arguments, function["name"], call_id, beside=beside
        )


def _chat_content(content: Json, role: str) -> Iterator[Fact]:
    if isinstance(content, str):
        yield Fact("text", "content", role, content)
        return
    for at, piece in enumerate(content or ()):
        yield _chat_piece(piece, f"content[{at}]", role)


def _chat_piece(piece: dict[str, Json], path: str, role: str) -> Fact:
    kind = piece["type"]
    if kind in ("text", "refusal"):
        return Fact("text", path, role, piece[kind], beside=_beside(piece, "type", kind))
    if kind == "image_url":
        given = (
            piece["image_url"]
            if isinstance(piece["image_url"], dict)
            else {"url": piece["image_url"]}
        )
        return _media("image", _at_url(given["url"]), path, role, **_beside(given, "url"))
    if kind == "input_audio":
        audio = (
            piece["input_audio"]
            if isinstance(piece["input_audio"], dict)
            else {"data": piece["input_audio"]}
        )
        return _media(
            "audio",
            {"type": f"audio/{audio.get('format', 'wav')}", "data": _in_data(audio["data"])},
            path,
            role,
        )
    if kind == "file" and "file_data" in piece.get("file", ()):
        return _media("file", _at_url(piece["file"]["file_data"]), path, role)
    if kind == "document_url":
        return _media("file", _at_url(piece["document_url"]), path, role)
    if kind == "thinking":
        return Fact(
            "reasoning",
            path,
            role,
            "".join(str(item.get("text", "")) for item in piece["thinking"]),
        )
    return Fact("own", path, role, piece)


def _parsed(arguments: Json) -> Json:
    """The arguments of a call: JSON text or an object; the text itself where it is no JSON."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _ollama(message: dict[str, Json]) -> Iterator[Fact]:
    """``ollama.Message``: one text, images beside it, calls and results without ids in older versions."""
    images = [
        _media("image", {"type": "image/*", "data": _in_data(data)}, "images", message["role"])
        for data in message.get("images") or ()
    ]
    if message["role"] == "tool":
        text = Fact("text", "", "tool", message["content"])
        name, call_id = message.get("tool_name", ""), message.get("tool_call_id", "")
        yield Fact("result", "", "tool", name=name, call_id=call_id, pieces=[text, *images])
        return
    yield from _chat({key: message[key] for key in message if key not in ("images", "thinking")})
    yield from images


# OpenAI's Responses.


def _item(item: dict[str, Json]) -> Iterator[Fact]:
    kind = item.get("type", "message")
    if kind == "message":
        role = "system" if item["role"] == "developer" else item["role"]
        content = item["content"]
        for at, piece in enumerate(
            [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        ):
            yield _item_piece(
                piece, "content" if isinstance(content, str) else f"content[{at}]", role
            )
    elif kind == "function_call":
        yield Fact(
            "call", "", "assistant", _parsed(item["arguments"]), item["name"], item["call_id"]
        )
    elif kind == "custom_tool_call":
        yield Fact("call", "", "assistant", item["input"], item["name"], item["call_id"])
    elif kind in ("function_call_output", "custom_tool_call_output"):
        output = item["output"]
        pieces = [{"type": "input_text", "text": output}] if isinstance(output, str) else output
        read = [_item_piece(piece, "", "tool") for piece in pieces]
        yield Fact("result", "", "tool", call_id=item["call_id"], pieces=read)
    elif kind == "reasoning":
        yield Fact(
            "reasoning", "", "assistant", " ".join(entry["text"] for entry in item["summary"])
        )
    else:
        yield Fact("own", "", "assistant", item)


def _item_piece(piece: dict[str, Json], path: str, role: str) -> Fact:
    kind = piece["type"]
    if kind in ("input_text", "output_text", "refusal"):
        key = "refusal" if kind == "refusal" else "text"
        return Fact("text", path, role, piece[key], beside=_beside(piece, "type", key))
    if kind == "input_image" and piece.get("image_url"):
        beside = {} if piece.get("detail") in (None, "auto") else {"detail": piece["detail"]}
        return _media("image", _at_url(piece["image_url"]), path, role, **beside)
    if kind == "input_file" and piece.get("file_data"):
        return _media("file", _at_url(piece["file_data"]), path, role)
    if kind == "input_file" and piece.get("file_url"):
        return _media("file", {"url": piece["file_url"]}, path, role)
    return Fact("own", path, role, piece)


# Anthropic's Messages.


def _anthropic(message: dict[str, Json]) -> Iterator[Fact]:
    content = message["content"]
    if isinstance(content, str):
        yield Fact("text", "content", message["role"], content)
        return
    for at, block in enumerate(content):
        yield _block(block, f"content[{at}]", message["role"])


def _block(block: dict[str, Json], path: str, role: str) -> Fact:
    kind = block["type"]
    if kind == "text":
        return Fact("text", path, role, block["text"], beside=_beside(block, "type", "text"))
    if kind in ("thinking", "redacted_thinking"):
        return Fact("reasoning", path, role, block.get("thinking", ""))
    if kind == "tool_use":
        beside = _beside(block, "type", "id", "name", "input")
        return Fact("call", path, role, block["input"], block["name"], block["id"], beside=beside)
    if kind == "tool_result":
        content = block.get("content", "")
        given = [{"type": "text", "text": content}] if isinstance(content, str) else content
        pieces = [_block(item, "", "tool") for item in given]
        beside = _beside(block, "type", "tool_use_id", "content", "is_error")
        is_error = bool(block.get("is_error"))
        return Fact(
            "result", path, "tool", None, "", block["tool_use_id"], is_error, pieces, beside
        )
    source = block.get("source")
    if (
        kind in ("image", "document")
        and isinstance(source, dict)
        and source["type"] in ("base64", "url", "text")
    ):
        value = (
            {"url": source["url"]} if source["type"] == "url" else {"type": source["media_type"]}
        )
        if source["type"] == "base64":
            value["data"] = _in_data(source["data"])
        if source["type"] == "text":
            value["data"] = source["data"].encode()
        return _media(
            "image" if kind == "image" else "file",
            value,
            path,
            role,
            **_beside(block, "type", "source", "title"),
        )
    return Fact("own", path, role, block)


# Gemini's generateContent.


def _content(content: dict[str, Json]) -> Iterator[Fact]:
    role = "assistant" if content.get("role") == "model" else "user"
    for at, part in enumerate(content["parts"]):
        yield _part(part, f"parts[{at}]", role)


def _part(part: dict[str, Json], path: str, role: str) -> Fact:
    beside = _beside(
        part, "text", "functionCall", "functionResponse", "inlineData", "fileData", "thought"
    )
    if call := part.get("functionCall"):
        return Fact(
            "call",
            path,
            role,
            call.get("args") or {},
            call["name"],
            call.get("id", ""),
            beside=beside,
        )
    if response := part.get("functionResponse"):
        given = response["response"]
        is_error = given.keys() == {"error"}
        value = (
            next(iter(given.values()))
            if given.keys() in ({"output"}, {"error"}, {"result"})
            else given
        )
        kind = "text" if isinstance(value, str) else "json"
        pieces = [Fact(kind, "", "tool", value)]
        pieces += [_part(item, "", "tool") for item in response.get("parts") or ()]
        return Fact(
            "result",
            path,
            "tool",
            None,
            response["name"],
            response.get("id", ""),
            is_error,
            pieces,
            beside,
        )
    if "text" in part:
        return Fact(
            "reasoning" if part.get("thought") else "text", path, role, part["text"], beside=beside
        )
    if data := part.get("inlineData"):
        return _media(
            "", {"type": data["mimeType"], "data": _in_data(data["data"])}, path, role, **beside
        )
    if file := part.get("fileData"):
        return _media("", {"url": file["fileUri"], "type": file["mimeType"]}, path, role, **beside)
    return Fact("own", path, role, part)


# Bedrock's Converse.
_FORMS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "pdf": "application/pdf",
          "txt": "text/plain", "csv": "text/csv", "md": "text/markdown", "html": "text/html"}  # fmt: skip


def _bedrock(message: dict[str, Json]) -> Iterator[Fact]:
    for at, block in enumerate(message["content"]):
        yield from _bedrock_block(block, f"content[{at}]", message["role"])


def _bedrock_block(block: dict[str, Json], path: str, role: str) -> Iterator[Fact]:
    [(kind, given)] = block.items()
    if kind == "text":
        yield Fact("text", path, role, given)
    elif kind == "json":
        yield Fact("json", path, role, given)
    elif kind == "toolUse":
        yield Fact("call", path, role, given["input"], given["name"], given["toolUseId"])
    elif kind == "toolResult":
        pieces = [fact for item in given["content"] for fact in _bedrock_block(item, "", "tool")]
        is_error = given.get("status") == "error"
        yield Fact("result", path, "tool", None, "", given["toolUseId"], is_error, pieces)
    elif kind == "reasoningContent":
        yield Fact("reasoning", path, role, given.get("reasoningText", {}).get("text", ""))
    elif kind == "citationsContent":
        for piece in given.get("content", ()):
            yield Fact("text", path, role, piece["text"], beside=_beside(given, "content"))
    elif kind == "guardContent" and "text" in given:
        yield Fact("text", path, role, given["text"]["text"], beside=_beside(given["text"], "text"))
    else:
        yield _bedrock_media(kind, given, path, role) or Fact("own", path, role, block)


def _bedrock_media(kind: str, given: dict[str, Json], path: str, role: str) -> Fact | None:
    source = given.get("source", {})
    if kind not in ("image", "document", "audio") or not source.keys() & {"bytes", "text"}:
        return None
    if "text" in source:
        value = {"type": "text/plain", "data": source["text"].encode()}
    else:
        value = {
            "type": _FORMS.get(given["format"]) or f"{kind}/{given['format']}",
            "data": _in_data(source["bytes"]),
        }
    place = "file" if kind == "document" else kind
    return _media(place, value, path, role, **_beside(given, "format", "source", "name"))


def _texts(given: Json) -> Iterable[str]:
    if isinstance(given, str):
        return [given] if given else []
    return [item["text"] for item in given or () if "text" in item]


_SYSTEMS: dict[str, Callable[[dict[str, Json]], Iterable[str]]] = {
    "openai": lambda request: [],
    "mistral": lambda request: [],
    "cohere": lambda request: [],
    "ollama": lambda request: [],
    "openai-responses": lambda request: _texts(request.get("instructions")),
    "anthropic": lambda request: _texts(request.get("system")),
    "bedrock": lambda request: _texts(request.get("system")),
    "gemini": lambda request: _texts(
        (request.get("config") or {}).get("systemInstruction", {}).get("parts")
    ),
    "vertex": lambda request: _texts(
        (request.get("config") or {}).get("systemInstruction", {}).get("parts")
    ),
}
_READERS: dict[str, Callable[[dict[str, Json]], Iterable[Fact]]] = {
    "openai": _chat,
    "mistral": _chat,
    "openai-responses": _item,
    "anthropic": _anthropic,
    "cohere": _chat,
    "ollama": _ollama,
    "gemini": _content,
    "vertex": _content,
    "bedrock": _bedrock,
}
