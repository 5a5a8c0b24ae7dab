"""The message of an error in; the tool, the place in its schema and the place in the history that it names, out.

The forms were taken from recorded refusals and public threads until November 2026. Every gap in a pattern is bounded.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Place", "place_in"]


class Place(NamedTuple):
    """Where a message points: a tool by its number or name, a path in its schema, a message by its number.

    ``path`` is that of a value (``"lines[].sku"``); ``keyword`` the last word of a schema's path, where one is at fault.
    """

    tool_number: int | None = None
    tool_name: str | None = None
    path: str = ""
    keyword: str = ""
    message: str = ""


_QUOTED = re.compile(r"'((?:[^'\\]|\\.){0,256})'|\"((?:[^\"\\]|\\.){0,256})\"")
_GEMINI_TOOL = re.compile(
    r"\btools\[(\d+)\]\.function_?[dD]eclarations\[(\w{1,6})\](?:\.((?:[\w$-]{1,128}|\[[^\]\n]{0,256}\]|\.){1,64}))?"
)
_BEDROCK_TOOL = re.compile(r"\btoolConfig\.tools\.(\d+)(\.member)?\.toolSpec(?:\.([\w.]{0,512}\w))?")
_ANTHROPIC_TOOL = re.compile(
    r"(?:^|[\s\"':])tools\.(\d+)(?:\.(?!member|toolSpec)[a-z]\w{0,64})?(?:\.([^\s:][^:]{0,512}?))?:\s"
)
_OPENAI_TOOL = re.compile(r"\b(?:tools|functions)\[(\d+)\](?:\.function)?(?:\.(\w[\w.\[\]$-]{0,512}))?")
_BODY_TOOL = re.compile(r"\[\s*'?body'?\s*,\s*'?tools'?\s*,\s*(\d+)\s*((?:,\s*'?[\w$-]{1,128}'?\s*){0,32})\]")
_NAMES = (
    re.compile(r"Invalid schema for function '((?:[^'\n]){1,256})'"),
    re.compile(r"invalid JSON schema for tool (\S{1,256}), tools\[\d+\]"),
    re.compile(r"parameters for tool (\S{1,256}) did not match schema"),
    re.compile(r"attempted to call tool '([^'\n]{1,256})' which was not in request\.tools"),
    re.compile(r"`([^`\n]{1,256})` functionDeclaration "),
    re.compile(r"function call `?(?:default_api:)?([\w.:-]{1,128})`?\s*,\s*position \d+"),
    re.compile(r"Function name was (.{1,300}?) but must be"),
)
_CONTEXT = re.compile(r"In context=\(([^)\n]{0,1000})\)")
_VERTEX_PATH = re.compile(r"functionDeclaration `([^`\n]{1,512})` schema")
_MOONSHOT_PATH = re.compile(r"moonshot flavored json schema.{0,40}?At path '([^'\n]{0,512})'", re.DOTALL)
_KEYWORDS = (
    re.compile(r'Unknown name "([^"\n]{1,256})"'),
    re.compile(r"'([^'\n]{1,64})' is not permitted"),
    re.compile(r"property '([^'\n]{1,64})' is not supported"),
    re.compile(r"Unsupported JSON schema fields: \{'?([^},']{1,64})"),
)
_MISSING = re.compile(r"including every key in properties\. Missing '([^'\n]{0,256})'")
_MESSAGES = (
    (re.compile(r"\bmessages\.(\d+)\.member(?:\.([\w.]{1,256}))?"), 1),
    (re.compile(r"(?:^|[\s\"':])(?:messages|input)\.(\d+)(?:\.(?!member)([\w.]{0,256}\w))?(?=:|\s|$|\.\s)"), 0),
    (re.compile(r"\b(?:messages|input|contents)\.?\[(\d+)\](?:\.([\w.\[\]]{1,256}))?"), 0),
    (re.compile(r"#/messages/(\d+)((?:/[\w~-]{1,64}){0,16})"), 0),
    (re.compile(r"\bmessage\[(\d+)\](\b)?"), 0),
    (re.compile(r"at message index (\d+)(\b)?"), 0),
)
_WORDS = ("parameters", "input_schema", "inputSchema", "json", "parametersJsonSchema", "custom")


def place_in(text: str) -> Place:
    """What a message points to; as much as it says."""
    found = _tool(text)
    name = next((one[1] for pattern in _NAMES if (one := pattern.search(text))), None)
    path, keyword = found.path, found.keyword
    if context := _CONTEXT.search(text):
        path, keyword = _value_path(one or other for one, other in _QUOTED.findall(context[1]))
    for pattern in (_VERTEX_PATH, _MOONSHOT_PATH):
        if named := pattern.search(text):
            path = named[1].removeprefix("parameters.")
    if missing := _MISSING.search(text):
        path = f"{path}.{missing[1]}" if path else missing[1]
    keyword = next((one[1] for pattern in _KEYWORDS if (one := pattern.search(text))), keyword)
    return found._replace(tool_name=name, path=path, keyword=keyword, message=_message(text))


def _tool(text: str) -> Place:
    """The tool by its number, counted from 0, and the path after that."""
    if one := _GEMINI_TOOL.search(text):
        path, keyword = _value_path(_words(one[3] or ""))
        return Place(tool_number=int(one[2]) if one[2].isdigit() else None, path=path, keyword=keyword)
    if one := _BEDROCK_TOOL.search(text):  # with "member" it counts from 1 (BerriAI/litellm#24668)
        path, keyword = _value_path((one[3] or "").split("."))
        return Place(tool_number=int(one[1]) - bool(one[2]), path=path, keyword=keyword)
    for pattern in (_ANTHROPIC_TOOL, _OPENAI_TOOL):
        if one := pattern.search(text):
            path, keyword = _value_path(_words(one[2] or ""))
            return Place(tool_number=int(one[1]), path=path, keyword=keyword)
    if one := _BODY_TOOL.search(text):
        path, keyword = _value_path(word.strip(" '") for word in one[2].split(",") if word.strip())
        return Place(tool_number=int(one[1]), path=path, keyword=keyword)
    return Place()


def _words(path: str) -> list[str]:
    """The steps of a path; a number in brackets after ``properties`` is a position, which names nothing."""
    found = [
        word or (f"#{inner}" if inner.isdigit() else inner)
        for word, inner in re.findall(r"([\w$-]+)|\[([^\]]*)\]", path)
    ]
    return [word for word in found if word != "value"]


def _value_path(words: Iterable[str]) -> tuple[str, str]:
    """The path of the values that a path in a schema is about, and the keyword that it ends with."""
    path, last = "", ""
    steps: Iterator[str] = iter(words)
    for word in steps:
        if word in ("properties", "$defs", "definitions"):
            name = next(steps, None)
            if name is None or name.startswith("#"):  # a position names nothing
                return path, word if name is None else ""
            path += f".{name}" if path else name
            last = ""
        elif word == "items":
            path, last = f"{path}[]", ""
        elif word and word not in _WORDS and word != "function" and not word.startswith("#") and not word.isdigit():
            last = word
    return path, last


def _message(text: str) -> str:
    for pattern, first in _MESSAGES:
        if one := pattern.search(text):
            rest = (one[2] or "").strip("./").replace("/", ".")
            return f"messages[{int(one[1]) - first}]" + (f".{rest}" if rest else "")
    return ""
