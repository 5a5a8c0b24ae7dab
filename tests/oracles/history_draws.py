"""Draws stored histories as the SDKs' message types have them: one writer for each provider, each with its odd forms.

What is drawn is JSON data: bytes, which Bedrock's messages hold, are ``{"$bytes": base64}``; ``with_bytes`` puts them
back.
"""

import base64
import json
from random import Random
from typing import Any

__all__ = ["PROVIDERS", "draw_history", "with_bytes"]

Json = Any
PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini", "bedrock", "mistral")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
PDF = b"%PDF-1.4\n%%EOF"
WORDS = (
    "Hello.", "Grüße aus Köln", "数字 \u0663\u066b\u0661\u0664", "emoji 👩‍👩‍👧 and \u202eRTL", "line\nbreak\ttab", "<b>&amp;</b>", "a\u0000b", "\ufeffBOM",
    "Error [tool_error]: said by a person", "[image.png]", "null", '{"a": 1}', "```json\n[]\n```", "\u2028separator", "x" * 300,
)  # fmt: skip
RESULTS = (
    "1.10", "1e5", "0012", "true", "null", '"quoted"', '{"a":1,"a":2}', '{"price": 1.10}', "9007199254740993", "[1, 2.0]", "NaN",
    "-0", "3", " padded ", "[]", "{}", '{"$ref": "#/x"}', '{"__type": "T"}', "Error [tool_error]: not one", "nothing\n", "Ünïcode \u0663",
    "Infinity", '{"output": "7"}', '{"error": "no error"}', "true\n", "\u00a0", '{"a": 9007199254740993}', '"', "{broken",
)  # fmt: skip
VALUES = (
    "x",
    "",
    0,
    -1,
    1.5,
    True,
    None,
    [],
    {},
    [1, "2"],
    {"k": {"n": None}},
    "1.10",
    9007199254740993,
    "é\u0000",
)
TOOLS = ("weather", "note", "measure")


def with_bytes(value: Json) -> Json:
    """JSON data with the bytes that it stands for."""
    if isinstance(value, dict):
        if value.keys() == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: with_bytes(item) for key, item in value.items()}
    return [with_bytes(item) for item in value] if isinstance(value, list) else value


def draw_history(random: Random, provider: str) -> dict[str, Json]:
    """A request of a provider that ends with a message of the user."""
    return _WRITERS[provider](random).request()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Writer:
    """Draws what is said, for the writers of the providers, which say how it is written."""

    key = "messages"

    def __init__(self, random: Random) -> None:
        self.random = random
        self.number = 0
        self.messages: list[Json] = []
        self.made: dict[str, Json] = {}
        self.used: list[str] = []

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def text(self) -> str:
        """A text that no other contains."""
        self.number += 1
        return f"{self.random.choice(WORDS)} #{self.number};"

    def data(self) -> bytes:
        """Bytes that no other medium has."""
        self.number += 1
        return self.number.to_bytes(2, "big")

    def call_id(self) -> str:
        if self.used and self.chance(0.05):
            return self.random.choice(self.used)
        if self.chance(0.12):
            odd = (
                "functions.x:0",
                "call|1",
                "a" * 70,
                "null",
                "c 1",
                "é1",
                "call_" + "b" * 40,
                "toolu/1",
                "1",
            )
            return self.random.choice(odd) + str(self.number % 3)
        return self.own_id("".join(self.random.choices("abcdefghijkABCDEFGHIJK0123456789", k=9)))

    def own_id(self, letters: str) -> str:
        return letters

    def arguments(self, name: str) -> Json:
        self.number += 1
        if name == "weather":
            return {
                "city": f"{self.random.choice(WORDS)} {self.number}",
                "days": self.random.randrange(9),
            }
        if name == "note":
            return {"text": f"{self.random.choice(RESULTS)} {self.number}"}
        if name == "measure":
            return {
                "value": self.random.choice((1.5, -0.25, 3.0, 1e-7)),
                "unit": f"unit {self.number}",
            }
        return {"n": self.number, "odd": self.random.choice(VALUES)}

    def calls(self) -> list[dict[str, Json]]:
        """Calls that are said together, each with what its result is."""
        found: list[dict[str, Json]] = []
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            name = self.random.choice((*TOOLS, *TOOLS, "gone"))
            made = {"id": self.call_id(), "name": name, "arguments": self.arguments(name)}
            if self.chance(0.04):
                made["arguments"] = {"n": self.number}  # which no tool takes
            if all(item["id"] != made["id"] for item in found):
                found.append(made)
        if len(found) == 1 and self.chance(0.04):
            found[0]["id"] = ""  # and its result's
        self.used += [item["id"] for item in found if item["id"]]
        return found

    def result(self) -> dict[str, Json]:
        kind = self.random.random()
        if kind < 0.12:
            return {"texts": [self.random.choice(RESULTS)], "is_error": True}
        if kind < 0.22:
            return {
                "texts": [self.text()],
                "image": PNG + self.data(),
                "is_error": self.chance(0.2),
            }
        if kind < 0.3:
            return {"texts": [self.text(), self.random.choice(RESULTS)]}
        if kind < 0.36:
            return {"json": {"value": self.random.choice(VALUES), "n": self.number}}
        if kind < 0.4:
            return {"texts": [""]}
        return {"texts": [self.random.choice(RESULTS)]}

    def request(self) -> dict[str, Json]:
        if self.chance(0.5):
            self.system(self.text())
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self.user()
            for _ in range(self.random.choice((0, 1, 1, 2))):
                self.step()
            if self.chance(0.7):
                self.assistant([])
        self.user_text("The end.")
        return {**self.made, self.key: self.messages}

    def step(self) -> None:
        calls = self.calls()
        self.assistant(calls)
        kind = self.random.random()
        answered = [(call, self.result()) for call in calls]
        if kind < 0.05:  # the process was stopped
            *answered, (last, _) = answered
            self.used = [
                call_id for call_id in self.used if call_id != last["id"]
            ]  # else its result is anybody's
        elif kind < 0.09:
            answered.append(answered[0])
        elif kind < 0.12:
            stray = {"id": self.own_id("stray1234"), "name": "note", "arguments": {}}
            answered.append((stray, {"texts": [self.text()]}))
        elif kind < 0.15:
            self.user_text(self.text())
        elif kind < 0.2:
            answered.reverse()
        if answered:
            self.results(answered)

    def system(self, text: str) -> None:
        raise NotImplementedError

    def user(self) -> None:
        raise NotImplementedError

    def user_text(self, text: str) -> None:
        raise NotImplementedError

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        raise NotImplementedError

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        raise NotImplementedError

    def few(self, *makers: Any) -> list[Json]:
        """What some of the makers make."""
        return [self.random.choice(makers)() for _ in range(self.random.choice((1, 1, 2, 3)))]


def _as_text(result: dict[str, Json]) -> str:
    return (
        json.dumps(result["json"], ensure_ascii=False)
        if "json" in result
        else "\n".join(result["texts"])
    )


class Chat(Writer):
    """Messages of ``openai.types.chat``."""

    legacy = 0.05
    custom = 0.05

    def own_id(self, letters: str) -> str:
        return f"call_{letters}"

    def system(self, text: str) -> None:
        role = self.random.choice(("system", "developer"))
        content: Json = [{"type": "text", "text": text}] if self.chance(0.3) else text
        self.messages.append({"role": role, "content": content})

    def user_text(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def user(self) -> None:
        if self.chance(0.4):
            return self.user_text(self.text())
        name = {"name": "ann"} if self.chance(0.1) else {}
        parts = self.few(self.text_part, self.text_part, self.image, self.image_url, *self.others())
        return self.messages.append({"role": "user", "content": parts, **name})

    def text_part(self) -> Json:
        return {"type": "text", "text": self.text()}

    def image(self) -> Json:
        kind, data = self.random.choice((("image/png", PNG), ("image/jpeg", JPEG)))
        detail = {"detail": "low"} if self.chance(0.3) else {}
        return {
            "type": "image_url",
            "image_url": {"url": f"data:{kind};base64,{_b64(data + self.data())}", **detail},
        }

    def image_url(self) -> Json:
        self.number += 1
        return {"type": "image_url", "image_url": {"url": f"https://example.org/{self.number}.png"}}

    def others(self) -> list[Any]:
        return [self.file, self.audio]

    def file(self) -> Json:
        data = f"data:application/pdf;base64,{_b64(PDF + self.data())}"
        return {"type": "file", "file": {"filename": "a b.pdf", "file_data": data}}

    def audio(self) -> Json:
        return {
            "type": "input_audio",
            "input_audio": {"data": _b64(b"RIFF" + self.data()), "format": "wav"},
        }

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        message: dict[str, Json] = {"role": "assistant", "content": None}
        kind = self.random.random()
        if not calls and kind < 0.1:
            message["refusal"] = self.text()
        elif not calls and kind < 0.15:
            message["content"] = [{"type": "refusal", "refusal": self.text()}]
        elif not calls or kind < 0.4:
            message["content"] = self.text()
        elif kind < 0.5:
            message["content"] = [self.text_part(), self.text_part()]
        elif kind < 0.6:
            message["content"] = ""
        if len(calls) == 1 and self.chance(self.legacy):
            calls[0] |= {"id": "", "is_legacy": True}
            arguments = json.dumps(calls[0]["arguments"])
            message["function_call"] = {"name": calls[0]["name"], "arguments": arguments}
        elif calls:
            message["tool_calls"] = [self.call(call) for call in calls]
        self.odd_assistant(message)
        self.messages.append(message)

    def odd_assistant(self, message: dict[str, Json]) -> None:
        if self.chance(0.05):
            message["reasoning_content"] = self.text()
        if self.chance(0.05):
            message["annotations"] = []

    def call(self, call: dict[str, Json]) -> Json:
        if self.chance(self.custom):
            return {
                "id": call["id"],
                "type": "custom",
                "custom": {"name": call["name"], "input": self.text()},
            }
        arguments = json.dumps(call["arguments"], ensure_ascii=self.chance(0.5))
        if self.chance(0.03):
            arguments = arguments[:-2]  # it was cut off
        return {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": arguments},
        }

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        for call, result in answered:
            text = _as_text(result)
            content: Json = text
            if len(result.get("texts", ())) > 1:
                content = [{"type": "text", "text": text} for text in result["texts"]]
            if result.get("is_error"):
                content = f"Error [tool_error]: {text}"
            if call.get("is_legacy"):
                self.messages.append({"role": "function", "name": call["name"], "content": text})
            else:
                self.messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": content}
                )


class Mistral(Chat):
    """Messages of ``mistralai.client.models``."""

    legacy = 0.0
    custom = 0.0

    def own_id(self, letters: str) -> str:
        return letters

    def system(self, text: str) -> None:
        self.messages.append({"role": "system", "content": text})

    def user(self) -> None:
        content: Json = self.text()
        if self.chance(0.6):
            makers = (self.image, self.image_url, self.plain_image_url, self.document)
            content = [self.text_part(), *self.few(self.text_part, *makers)]
        self.messages.append({"role": "user", "content": content})

    def plain_image_url(self) -> Json:
        self.number += 1
        return {"type": "image_url", "image_url": f"https://example.org/{self.number}.png"}

    def document(self) -> Json:
        self.number += 1
        return {
            "type": "document_url",
            "document_url": f"https://example.org/{self.number}.pdf",
            "document_name": "d.pdf",
        }

    def odd_assistant(self, message: dict[str, Json]) -> None:
        if self.chance(0.15):
            thought = {"type": "thinking", "thinking": [{"type": "text", "text": self.text()}]}
            text = message["content"] or self.text()
            message["content"] = [
                thought,
                *(text if isinstance(text, list) else [{"type": "text", "text": text}]),
            ]
        if isinstance(message["content"], list):
            message["content"] = [
                item for item in message["content"] if item["type"] != "refusal"
            ] or self.text()
        if message.pop("refusal", None) is not None:
            message["content"] = self.text()

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        super().results(answered)
        for message, (call, _) in zip(self.messages[-len(answered) :], answered, strict=True):
            if self.chance(0.7):
                message["name"] = call["name"]


class Responses(Writer):
    """Items of ``openai.types.responses``."""

    key = "input"

    def own_id(self, letters: str) -> str:
        return f"call_{letters}"

    def system(self, text: str) -> None:
        if self.chance(0.5):
            self.made["instructions"] = text
        else:
            self.messages.append(
                {"role": self.random.choice(("system", "developer")), "content": text}
            )

    def user_text(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def user(self) -> None:
        if self.chance(0.4):
            return self.user_text(self.text())
        kind = {"type": "message"} if self.chance(0.5) else {}
        parts = self.few(
            self.text_part, self.text_part, self.image, self.image_url, self.file, self.file_url
        )
        return self.messages.append({**kind, "role": "user", "content": parts})

    def text_part(self) -> Json:
        return {"type": "input_text", "text": self.text()}

    def image(self) -> Json:
        detail = self.random.choice(("auto", "low", "high"))
        url = f"data:image/png;base64,{_b64(PNG + self.data())}"
        return {"type": "input_image", "image_url": url, "detail": detail}

    def image_url(self) -> Json:
        self.number += 1
        return {
            "type": "input_image",
            "image_url": f"https://example.org/{self.number}.png",
            "detail": "auto",
        }

    def file(self) -> Json:
        data = f"data:application/pdf;base64,{_b64(PDF + self.data())}"
        return {"type": "input_file", "filename": "a.pdf", "file_data": data}

    def file_url(self) -> Json:
        self.number += 1
        return {"type": "input_file", "file_url": f"https://example.org/{self.number}.pdf"}

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        self.number += 1
        if self.chance(0.3):
            summary = [{"type": "summary_text", "text": self.text()}]
            self.messages.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{self.number}",
                    "summary": summary,
                    "encrypted_content": "c2VjcmV0",
                }
            )
        if self.chance(0.1):
            action = {"type": "search", "query": "kettles"}
            self.messages.append(
                {
                    "type": "web_search_call",
                    "id": f"ws_{self.number}",
                    "status": "completed",
                    "action": action,
                }
            )
        if not calls or self.chance(0.3):
            self.messages.append(self.said())
        for at, call in enumerate(calls):
            item = {"id": f"fc_{self.number}{at}"} if self.chance(0.6) else {}
            arguments = json.dumps(call["arguments"])
            call["is_custom"] = self.chance(0.05)
            if call["is_custom"]:
                self.messages.append(
                    {
                        "type": "custom_tool_call",
                        "call_id": call["id"],
                        "name": call["name"],
                        "input": self.text(),
                    }
                )
                continue
            if self.chance(0.03):
                arguments = arguments[:-2]  # it was cut off
            self.messages.append(
                {
                    "type": "function_call",
                    **item,
                    "call_id": call["id"],
                    "name": call["name"],
                    "arguments": arguments,
                }
            )

    def said(self) -> Json:
        if self.chance(0.2):
            return {"role": "assistant", "content": self.text()}
        content: Json = {"type": "output_text", "text": self.text(), "annotations": []}
        if self.chance(0.15):
            content = {"type": "refusal", "refusal": self.text()}
        elif self.chance(0.15):
            cited = {
                "type": "url_citation",
                "url": "https://e.org",
                "title": "t",
                "start_index": 0,
                "end_index": 3,
            }
            content["annotations"] = [cited]
        return {
            "type": "message", "id": f"msg_{self.number}", "role": "assistant", "status": "completed", "content": [content]
        }  # fmt: skip

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        for call, result in answered:
            mark = "Error [tool_error]: " if result.get("is_error") else ""
            output: Json = mark + _as_text(result)
            if "image" in result or len(result.get("texts", ())) > 1:
                first, *rest = result["texts"]
                output = [{"type": "input_text", "text": text} for text in (mark + first, *rest)]
                if "image" in result:
                    url = f"data:image/png;base64,{_b64(result['image'])}"
                    output.append({"type": "input_image", "image_url": url, "detail": "auto"})
            kind = "custom_tool_call_output" if call.get("is_custom") else "function_call_output"
            self.messages.append({"type": kind, "call_id": call["id"], "output": output})


class Anthropic(Writer):
    """Messages of ``anthropic.types``."""

    def own_id(self, letters: str) -> str:
        return f"toolu_{letters}"

    def system(self, text: str) -> None:
        blocks = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        self.made["system"] = blocks if self.chance(0.3) else text

    def user_text(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def user(self) -> None:
        if self.chance(0.4):
            return self.user_text(self.text())
        parts = self.few(
            self.text_part,
            self.text_part,
            self.image,
            self.image_url,
            self.document,
            self.text_document,
            self.document_url,
        )
        return self.messages.append({"role": "user", "content": parts})

    def text_part(self) -> Json:
        cached = {"cache_control": {"type": "ephemeral"}} if self.chance(0.1) else {}
        return {"type": "text", "text": self.text(), **cached}

    def image(self) -> Json:
        kind, data = self.random.choice((("image/png", PNG), ("image/jpeg", JPEG)))
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": kind, "data": _b64(data + self.data())},
        }

    def image_url(self) -> Json:
        self.number += 1
        return {
            "type": "image",
            "source": {"type": "url", "url": f"https://example.org/{self.number}.png"},
        }

    def _document(self, source: Json) -> Json:
        title = {"title": "A title"} if self.chance(0.5) else {}
        context = {"context": self.text()} if self.chance(0.2) else {}
        return {"type": "document", "source": source, **title, **context}

    def document(self) -> Json:
        data = _b64(PDF + self.data())
        return self._document({"type": "base64", "media_type": "application/pdf", "data": data})

    def text_document(self) -> Json:
        return self._document({"type": "text", "media_type": "text/plain", "data": self.text()})

    def document_url(self) -> Json:
        self.number += 1
        return self._document({"type": "url", "url": f"https://example.org/{self.number}.pdf"})

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        blocks: list[Json] = []
        if self.chance(0.25):
            blocks.append({"type": "thinking", "thinking": self.text(), "signature": "c2lnbmVk"})
        if self.chance(0.05):
            blocks.append({"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="})
        if self.chance(0.08):
            search = {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "k"},
            }
            blocks += [
                search,
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            ]
        if not calls and self.chance(0.2):
            self.messages.append({"role": "assistant", "content": self.text()})
            return
        if not calls or self.chance(0.4):
            blocks.append(self.said())
        blocks += [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
            for call in calls
        ]
        if calls and self.chance(0.04):
            blocks.append(self.said())
        self.messages.append({"role": "assistant", "content": blocks})

    def said(self) -> Json:
        block = {"type": "text", "text": self.text()}
        if self.chance(0.1):
            cited = {
                "type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "t", "start_char_index": 0,
                "end_char_index": 1,
            }  # fmt: skip
            block["citations"] = [cited]
        return block

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        blocks = [self.answer(call, result) for call, result in answered]
        if self.chance(0.2):
            blocks.append({"type": "text", "text": self.text()})
        self.messages.append({"role": "user", "content": blocks})

    def answer(self, call: dict[str, Json], result: dict[str, Json]) -> Json:
        block: dict[str, Json] = {"type": "tool_result", "tool_use_id": call["id"]}
        text = _as_text(result)
        if text or self.chance(0.5):
            block["content"] = text
        if "image" in result or len(result.get("texts", ())) > 1 or (text and self.chance(0.2)):
            block["content"] = [
                {"type": "text", "text": item} for item in result.get("texts", [text])
            ]
        if "image" in result:
            source = {"type": "base64", "media_type": "image/png", "data": _b64(result["image"])}
            block["content"].append({"type": "image", "source": source})
        if result.get("is_error"):
            block["is_error"] = True
        return block


class Gemini(Writer):
    """Contents of ``google.genai.types``."""

    key = "contents"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.has_ids = self.chance(0.5)

    def call_id(self) -> str:
        return super().call_id() if self.has_ids else f"#{self.number}"

    def system(self, text: str) -> None:
        self.made["config"] = {"systemInstruction": {"parts": [{"text": text}]}}

    def user_text(self, text: str) -> None:
        self.messages.append({"role": "user", "parts": [{"text": text}]})

    def user(self) -> None:
        parts = self.few(
            self.text_part,
            self.text_part,
            self.text_part,
            self.image,
            self.file,
            self.file_url,
            self.audio,
        )
        self.messages.append({"role": "user", "parts": parts})

    def text_part(self) -> Json:
        return {"text": self.text()}

    def image(self) -> Json:
        return {"inlineData": {"mimeType": "image/png", "data": _b64(PNG + self.data())}}

    def file(self) -> Json:
        return {"inlineData": {"mimeType": "application/pdf", "data": _b64(PDF + self.data())}}

    def audio(self) -> Json:
        return {"inlineData": {"mimeType": "audio/wav", "data": _b64(b"RIFF" + self.data())}}

    def file_url(self) -> Json:
        self.number += 1
        video = {"videoMetadata": {"startOffset": "1s"}} if self.chance(0.3) else {}
        kind = "video/mp4" if video else "image/png"
        return {
            "fileData": {"fileUri": f"https://example.org/{self.number}", "mimeType": kind},
            **video,
        }

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        parts: list[Json] = []
        if self.chance(0.2):
            parts.append({"text": self.text(), "thought": True})
        if self.chance(0.06):
            parts.append({"executableCode": {"code": "print(1)", "language": "PYTHON"}})
        if not calls or self.chance(0.4):
            signed = {"thoughtSignature": "c2lnbmVk"} if self.chance(0.2) else {}
            parts.append({"text": self.text(), **signed})
        for at, call in enumerate(calls):
            own = {"id": call["id"]} if self.has_ids else {}
            signed = {"thoughtSignature": "c2lnbmVk"} if at == 0 and self.chance(0.6) else {}
            parts.append(
                {"functionCall": {**own, "name": call["name"], "args": call["arguments"]}, **signed}
            )
        self.messages.append({"role": "model", "parts": parts})

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        self.messages.append(
            {"role": "user", "parts": [self.answer(call, result) for call, result in answered]}
        )

    def answer(self, call: dict[str, Json], result: dict[str, Json]) -> Json:
        own = {"id": call["id"]} if self.has_ids else {}
        key = "error" if result.get("is_error") else self.random.choice(("output", "result"))
        value = {key: _as_text(result)}
        if "json" in result:
            value = result["json"] if self.chance(0.5) else {key: result["json"]}
        response: dict[str, Json] = {**own, "name": call["name"], "response": value}
        if "image" in result:
            response["parts"] = [
                {"inlineData": {"mimeType": "image/png", "data": _b64(result["image"])}}
            ]
        return {"functionResponse": response}


class Bedrock(Writer):
    """Messages of Converse, in botocore's model of ``bedrock-runtime``."""

    def own_id(self, letters: str) -> str:
        return f"tooluse_{letters}"

    def call_id(self) -> str:
        return super().call_id()[:64]

    def system(self, text: str) -> None:
        self.made["system"] = [{"text": text}]

    def user_text(self, text: str) -> None:
        self.messages.append({"role": "user", "content": [{"text": text}]})

    def user(self) -> None:
        blocks = self.few(
            self.text_part, self.text_part, self.text_part, self.image, self.document, self.guarded
        )
        self.messages.append({"role": "user", "content": [self.text_part(), *blocks]})

    def text_part(self) -> Json:
        return {"text": self.text()}

    def image(self) -> Json:
        return {
            "image": {"format": "png", "source": {"bytes": {"$bytes": _b64(PNG + self.data())}}}
        }

    def document(self) -> Json:
        self.number += 1
        form, data = self.random.choice((("pdf", PDF), ("csv", b"a,b\n"), ("txt", b"words ")))
        context = {"context": self.text()} if self.chance(0.2) else {}
        source = {"bytes": {"$bytes": _b64(data + str(self.number).encode())}}
        return {
            "document": {
                "format": form,
                "name": f"Document {self.number}",
                "source": source,
                **context,
            }
        }

    def guarded(self) -> Json:
        return {"guardContent": {"text": {"text": self.text()}}}

    def assistant(self, calls: list[dict[str, Json]]) -> None:
        blocks: list[Json] = []
        if self.chance(0.2):
            blocks.append(
                {
                    "reasoningContent": {
                        "reasoningText": {"text": self.text(), "signature": "c2lnbmVk"}
                    }
                }
            )
        if not calls and self.chance(0.1):
            blocks.append(
                {
                    "citationsContent": {
                        "content": [{"text": self.text()}],
                        "citations": [{"title": "t"}],
                    }
                }
            )
        elif not calls or self.chance(0.4):
            blocks.append({"text": self.text()})
        blocks += [
            {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}}
            for call in calls
        ]
        self.messages.append({"role": "assistant", "content": blocks})

    def results(self, answered: list[tuple[dict[str, Json], dict[str, Json]]]) -> None:
        blocks = [self.answer(call, result) for call, result in answered]
        if self.chance(0.2):
            blocks.append({"text": self.text()})
        self.messages.append({"role": "user", "content": blocks})

    def answer(self, call: dict[str, Json], result: dict[str, Json]) -> Json:
        content: list[Json] = [{"json": result["json"]}] if "json" in result else []
        content += [{"text": item} for item in result.get("texts", ())]
        if "image" in result:
            content.append(
                {"image": {"format": "png", "source": {"bytes": {"$bytes": _b64(result["image"])}}}}
            )
        status = {"status": "error"} if result.get("is_error") else {}
        return {"toolResult": {"toolUseId": call["id"], "content": content, **status}}


_WRITERS: dict[str, Any] = {
    "openai": Chat,
    "openai-responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "bedrock": Bedrock,
    "mistral": Mistral,
}
