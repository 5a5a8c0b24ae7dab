"""Finds the tool, the place in its schema or the message that an error's words name.

The patterns match recorded error messages and messages in public threads up to November 2026. Every
gap in a pattern has a maximum length.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Pointer(NamedTuple):
    """The place that an error message names: a tool (number or name), a path in its
    schema, or a message (number).

    ``path`` is the path of a value (``"lines[].sku"``). ``keyword`` is the schema keyword at fault,
    which is the last word of a schema path. If ``is_output`` is true, the schema describes an
    answer, and ``tool_name`` is the name that the request gave to that schema, if any.
    """

    tool_number: int | None = None
    tool_name: str | None = None
    path: str = ""
    keyword: str = ""
    message: str = ""
    is_output: bool = False


_QUOTED = re.compile(r"'((?:[^'\\]|\\.){0,256})'|\"((?:[^\"\\]|\\.){0,256})\"")
_GEMINI_TOOL = re.compile(
    r"\btools\[(\d+)\]\.function_?[dD]eclarations\[(\w{1,6})\](?:\.((?:[\w$-]{1,128}|"
    r"\[[^\]\n]{0,256}\]|\.){1,64}))?"
)
_BEDROCK_TOOL = re.compile(
    r"\btoolConfig\.tools\.(\d+)(\.member)?\.toolSpec(?:\.([\w.]{0,512}\w))?"
)
_ANTHROPIC_TOOL = re.compile(
    r"(?:^|[\s\"':])tools\.(\d+)(?:\.(?!member|"
    r"toolSpec)[a-z]\w{0,64})?(?:\.([^\s:][^:]{0,512}?))?:\s"
)
_OPENAI_TOOL = re.compile(
    r"\b(?:tools|functions)\[(\d+)\](?:\.function)?(?:\.(\w[\w.\[\]$-]{0,512}))?"
)
_BODY_TOOL = re.compile(
    r"\[\s*'?body'?\s*,\s*'?tools'?\s*,\s*(\d+)\s*((?:,\s*'?[\w$-]{1,128}'?\s*){0,32})\]"
)
_OF_OUTPUT = re.compile(r"Invalid schema for response_format(?: '((?:[^'\n]){1,256})')?")
_OUTPUT = re.compile(
    r"\b(?:output_config\.format\.schema|response_format\.json_schema\.schema|text\.format\.schema|"
    r"generation_?[cC]onfig\.response_?(?:[jJ]son_?)?[sS]chema|"
    r"outputConfig\.textFormat\.structure\.jsonSchema\.schema)"
    r"(?:\.((?:[\w$-]{1,128}|\[[^\]\n]{0,256}\]|\.){1,64}))?"
)
"""Matches the name that servers give to the field with the answer's schema,
and the path inside this schema.
"""
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
_MOONSHOT_PATH = re.compile(
    r"moonshot flavored json schema.{0,40}?At path '([^'\n]{0,512})'", re.DOTALL
)
_KEYWORDS = (
    re.compile(r'Unknown name "([^"\n]{1,256})"'),
    re.compile(r"'([^'\n]{1,64})' is not permitted"),
    re.compile(r"property '([^'\n]{1,64})' is not supported"),
    re.compile(r"Unsupported JSON schema fields: \{'?([^},']{1,64})"),
)
_MISSING = re.compile(r"including every key in properties\. Missing '([^'\n]{0,256})'")
_MESSAGES = (
    (re.compile(r"\bmessages\.(\d+)\.member(?:\.([\w.]{1,256}))?"), 1),
    (
        re.compile(
            r"(?:^|[\s\"':])(?:messages|input)\.(\d+)(?:\.(?!member)([\w.]{0,256}\w))?(?=:|\s|$|"
            r"\.\s)"
        ),
        0,
    ),
    (re.compile(r"\b(?:messages|input|contents)\.?\[(\d+)\](?:\.([\w.\[\]]{1,256}))?"), 0),
    (re.compile(r"#/messages/(\d+)((?:/[\w~-]{1,64}){0,16})"), 0),
    (re.compile(r"\bmessage\[(\d+)\](\b)?"), 0),
    (re.compile(r"at message index (\d+)(\b)?"), 0),
)
_WORDS = ("parameters", "input_schema", "inputSchema", "json", "parametersJsonSchema", "custom")


def place_in(text: str) -> Pointer:
    """Return the place that an error message names.

    A field stays empty if the message does not state it.
    """
    pointer = _tool_pointer(text)
    name = next((match[1] for pattern in _NAMES if (match := pattern.search(text))), None)
    if (schema_match := _OF_OUTPUT.search(text)) is not None:
        name = schema_match[1]
    if (place_match := _OUTPUT.search(text)) is not None and pointer.tool_number is None:
        path, keyword = _value_path(_path_steps(place_match[1] or ""))
        pointer = pointer._replace(path=path, keyword=keyword)
    is_output = pointer.tool_number is None and (
        schema_match is not None or place_match is not None
    )
    path, keyword = pointer.path, pointer.keyword
    # Several patterns may match one message. The later one is the more exact: a context gives the
    # whole path, the paths of Vertex and Moonshot are in the words of the schema, and the name of a
    # missing field only continues a path.
    if context_match := _CONTEXT.search(text):
        path, keyword = _value_path(
            single or double for single, double in _QUOTED.findall(context_match[1])
        )
    for pattern in (_VERTEX_PATH, _MOONSHOT_PATH):
        if path_match := pattern.search(text):
            path = path_match[1].removeprefix("parameters.")
    if missing_match := _MISSING.search(text):
        if path:
            path = f"{path}.{missing_match[1]}"
        else:
            path = missing_match[1]
    keyword = next((match[1] for pattern in _KEYWORDS if (match := pattern.search(text))), keyword)
    return pointer._replace(
        tool_name=name, path=path, keyword=keyword, message=_message(text), is_output=is_output
    )


def _tool_pointer(text: str) -> Pointer:
    """Return the number of the tool, counted from 0, and the path that follows the number."""
    if match := _GEMINI_TOOL.search(text):
        path, keyword = _value_path(_path_steps(match[3] or ""))
        return Pointer(
            tool_number=int(match[2]) if match[2].isdigit() else None, path=path, keyword=keyword
        )
    # After "member", Bedrock counts from 1 (BerriAI/litellm#24668).
    if match := _BEDROCK_TOOL.search(text):
        path, keyword = _value_path((match[3] or "").split("."))
        return Pointer(tool_number=int(match[1]) - bool(match[2]), path=path, keyword=keyword)
    for pattern in (_ANTHROPIC_TOOL, _OPENAI_TOOL):
        if match := pattern.search(text):
            path, keyword = _value_path(_path_steps(match[2] or ""))
            return Pointer(tool_number=int(match[1]), path=path, keyword=keyword)
    if match := _BODY_TOOL.search(text):
        path, keyword = _value_path(
            word.strip(" '") for word in match[2].split(",") if word.strip()
        )
        return Pointer(tool_number=int(match[1]), path=path, keyword=keyword)
    return Pointer()


def _path_steps(path: str) -> list[str]:
    """Split a path into its steps.

    A number in brackets becomes ``#number``, because it is a position.
    """
    steps = [
        word or (f"#{inner}" if inner.isdigit() else inner)
        for word, inner in re.findall(r"([\w$-]+)|\[([^\]]*)\]", path)
    ]
    return [word for word in steps if word != "value"]


def _value_path(words: Iterable[str]) -> tuple[str, str]:
    """Convert a path in a schema to the path of the values it describes, and return
    the schema keyword at its end.
    """
    path, keyword = "", ""
    steps: Iterator[str] = iter(words)
    for word in steps:
        if word in ("properties", "$defs", "definitions"):
            name = next(steps, None)
            if name is None or name.startswith("#"):  # The step has no name, only a position.
                return path, word if name is None else ""
            path += f".{name}" if path else name
            keyword = ""
        elif word == "items":
            path, keyword = f"{path}[]", ""
        elif (
            word
            and word not in _WORDS
            and word != "function"
            and not word.startswith("#")
            and not word.isdigit()
        ):
            keyword = word
    return path, keyword


def _message(text: str) -> str:
    for pattern, first_index in _MESSAGES:
        if match := pattern.search(text):
            subpath = (match[2] or "").strip("./").replace("/", ".")
            return f"messages[{int(match[1]) - first_index}]" + (f".{subpath}" if subpath else "")
    return ""


# ``explain`` classifies a message without the names that it quotes. The author of the request chose
# the names of tools, parameters and other parts. They say nothing about the failure: a parameter
# may be called "billing_address". So ``without_names`` removes quoted strings, paths and lists, but
# keeps the provider's own terms and the positions.

_ADDRESS = re.compile(r"https?://[^\s'\"`<>]{1,500}")
_QUOTE = re.compile(
    r"(?<![\w\\])(?:'((?:[^'\\\n]|\\.){0,256})'|\"((?:[^\"\\\n]|\\.){0,256})\"|"
    r"`([^`\n]{0,256})`)(?!\w)"
)
"""Matches a quoted string. An apostrophe inside a word does not open a quote."""
_PATH = re.compile(
    r"#?(?:[\w$-]{1,128}|/[\w$~-]{1,128})(?:\.[\w$*-]{1,128}|\.?\[[^\]\n]{0,256}\]|"
    r"/[\w$~-]{1,128}){1,64}"
)
_LIST = re.compile(
    r"[\[(]\s*(?:['\"]?[\w$.-]{1,128}['\"]?\s*,\s*){1,40}(?:['\"]?[\w$.-]{1,128}['\"]?\s*)?[\])]"
)
_BODY = re.compile(r"[\[(]\s*['\"]?body['\"]?\s*,[^\[\]()\n]{0,1000}[\])]")
_BRACKETS = re.compile(r"(?<=\s)\[[^\[\]'\"`,\n]{1,128}\]")
_NAMED = re.compile(
    r"(?<=name was ).{1,300}?(?= but must)|(?<=id was ).{1,300}?(?= but must)|"
    r"(?<=found for function call )\S{1,300}|(?<=found for tool call )\S{1,300}"
)
_LAST = re.compile(r"(?<=: )\w{0,128}[_.-][\w.-]{0,128}$")
"""Matches a name after a colon at the end of a message."""
_OF_TOOL = re.compile(
    r"\b(?:function|tool)s?(?: names?| named| called)?:?\s+$|\b(?:fields?|keys?)\s+\[?$",
    re.IGNORECASE,
)
_OF_CODE = re.compile(r"(?:code|type|status|reason)['\"]:\s*$", re.IGNORECASE)
_OF_MESSAGE = re.compile(r"(?:message|msg|detail|error)['\"]:\s*$", re.IGNORECASE)
_CONTAINERS = frozenset(
    {
        "properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "required",
        "enum", "parameters",
        "parametersJsonSchema", "input_schema", "inputSchema", "schema", "json_schema", "arguments",
        "args", "input",
    }
)  # fmt: skip
"""After any of these path steps, the author of the request chose all further steps."""
_TERMS = frozenset(
    {
        "assistant", "developer", "function", "model", "system", "tool", "user",
        "call_id", "content", "contents", "input", "message", "messages", "parts", "role",
        "signature", "store",
        "functionCall", "functionResponse", "function_call", "function_call_output",
        "function_response", "tool_call",
        "tool_call_id", "tool_calls", "tool_result", "tool_use", "tool_use_id", "toolResult",
        "toolUse", "toolUseId",
        "encrypted_content", "reasoning", "reasoning_content", "reasoning_details",
        "redacted_thinking", "thinking",
        "thought", "thoughtSignature", "thought_signature",
        "$defs", "$ref", "additionalProperties", "allOf", "anyOf", "enum", "inputSchema",
        "input_schema", "items",
        "json_schema", "object", "oneOf", "parameters", "properties", "required", "schema",
        "strict", "type",
        "budget_tokens", "generation_config", "output_format", "parallel_tool_calls",
        "response_format", "text.format",
        "failed_generation", "toolChoice", "tool_choice", "tools",
    }
)  # fmt: skip
"""The providers' own terms, which their messages also quote."""
_LONGEST_NAME = 64
_MOST_WORDS = 4


def without_names(text: str) -> str:
    """Remove from an error message the names that the author of the request chose.

    A place in a tool becomes ``tools[0]``, and a place in the history becomes ``messages[0]``. The
    rest of a path is removed. A quoted string stays only if it is a provider's term, a code or a
    sentence.
    """
    text = _ADDRESS.sub("", text)
    text = _CONTEXT.sub("In context=()", text)
    for pattern in (_BODY, _LIST):
        text = pattern.sub(lambda match: _position(re.findall(r"[\w$-]+", match[0])) or " ", text)
    for pattern in (_BRACKETS, _NAMED, _LAST):
        text = pattern.sub("", text)
    text = _QUOTE.sub(lambda match: _remove_quoted(match, text), text)
    return _PATH.sub(lambda match: _shorten_path(match[0]), text)


def _remove_quoted(match: re.Match[str], text: str) -> str:
    quote, content = match[0][0], match[1] or match[2] or match[3] or ""
    before = text[max(match.start() - 40, 0) : match.start()]
    if _OF_CODE.search(before):
        kept_text = content
    elif _OF_TOOL.search(before) or text.startswith(" functionDeclaration", match.end()):
        kept_text = ""
    elif (
        _OF_MESSAGE.search(before)
        or len(content) > _LONGEST_NAME
        or len(content.split()) > _MOST_WORDS
    ):
        kept_text = without_names(content)
    elif content in _TERMS or (_PATH.fullmatch(content) and _position(_steps(content))):
        kept_text = content
    else:
        if _PATH.fullmatch(content):
            head = _steps(content)[0]
        else:
            head = ""
        kept_text = head if head in _TERMS else ""
    return f"{quote}{kept_text}{quote}"


def _shorten_path(path: str) -> str:
    """Reduce a path to its position, or to the leading steps that are the provider's own words."""
    steps = _steps(path)
    if position := _position(steps):
        return position
    end = next((number for number, step in enumerate(steps) if step in _CONTAINERS), None)
    if end is None:
        return path
    return ".".join(steps[: end + 1])


def _steps(path: str) -> list[str]:
    return re.findall(r"[\w$~*-]+|(?<=\[)[^\]]+", path)


def _position(steps: Sequence[str]) -> str:
    """Return ``tools[0]`` or ``messages[0]`` if the path leads to a tool or a
    message, else an empty string.
    """
    for step, next_step in itertools.pairwise(steps):
        if (
            step in ("tools", "functions", "function_declarations", "functionDeclarations")
            and next_step.isdigit()
        ):
            return " tools[0] "
        if step in ("messages", "input", "contents") and next_step.isdigit():
            return " messages[0] "
        if step in _CONTAINERS:
            break
    return ""
