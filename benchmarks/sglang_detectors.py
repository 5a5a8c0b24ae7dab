"""Runs SGLang's own tool-call detectors from an unpacked wheel, with empty modules in place of torch and other imports.

``python benchmarks/sglang_detectors.py FOLDER`` reads lines of JSON, ``{format, pieces, tools, repeats}``. It answers
each line with the calls and the shortest time in seconds.
"""

import importlib
import json
import logging
import sys
import time
import types
from pathlib import Path
from typing import Any

from empty_modules import EmptyModule, Finder
from pydantic import BaseModel

EMPTY = {"torch", "transformers", "xgrammar", "openai", "triton", "numpy", "requests", "sglang"}
PACKAGES = (
    "sglang", "sglang.srt", "sglang.srt.entrypoints", "sglang.srt.entrypoints.openai", "sglang.srt.function_call",
    "sglang.srt.parser", "sglang.srt.parser.chat_parsing",
)  # fmt: skip


def is_empty(name: str) -> bool:
    """Return whether the detectors get an empty module in place of a module: those in ``EMPTY`` that are not unpacked."""
    return name.split(".", maxsplit=1)[0] in EMPTY


class Function(BaseModel):
    """As SGLang's protocol has it."""

    name: str
    description: str | None = None
    parameters: object | None = None
    strict: bool | None = None
    defer_loading: bool | None = None


class Tool(BaseModel):
    """As SGLang's protocol has it."""

    function: Function
    type: str = "function"
    defer_loading: bool | None = None


def load(folder: Path) -> Any:
    """Return SGLang's ``FunctionCallParser``."""
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(folder))
    for name in PACKAGES:
        module = types.ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        sys.modules[name] = module
    sys.meta_path.append(Finder(is_empty))
    protocol = EmptyModule("sglang.srt.entrypoints.openai.protocol")
    for model_class in (Function, Tool):
        setattr(protocol, model_class.__name__, model_class)
    sys.modules[protocol.__name__] = protocol
    return importlib.import_module(
        "sglang.srt.function_call.function_call_parser"
    ).FunctionCallParser


def calls_of(parser_class: Any, name: str, pieces: list[str], tools: list[Tool]) -> list[list[Any]]:
    """Return the calls in a text, as a server reads them with ``tool_choice`` auto."""
    parser = parser_class(tools=tools, tool_call_parser=name)
    if len(pieces) == 1:
        if not parser.has_tool_call(pieces[0]):
            return []
        _, calls = parser.parse_non_stream(pieces[0])
        return [[call.name, call.parameters] for call in calls]
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    answers = [parser.parse_stream_chunk(piece)[1] for piece in pieces]
    for call in [call for calls in [*answers, parser.parse_stream_end()[1]] for call in calls]:
        if call.name:
            names[call.tool_index] = names.get(call.tool_index, "") + call.name
        arguments[call.tool_index] = arguments.get(call.tool_index, "") + (call.parameters or "")
    add_held_back(parser.detector, arguments)
    return [[names.get(at), arguments[at]] for at in sorted(arguments)]


def add_held_back(detector: Any, arguments: dict[int, str]) -> None:
    """Add the end of the last call's arguments that the detector held back, as SGLang's server does after a stream."""
    parsed_calls, sent_arguments = (
        getattr(detector, "prev_tool_call_arr", None),
        getattr(detector, "streamed_args_for_tool", None),
    )
    last = len(parsed_calls or ()) - 1
    if not parsed_calls or not sent_arguments or last >= len(sent_arguments):
        return
    expected = parsed_calls[last].get("arguments", {})
    expected = expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)
    if expected.startswith(sent_arguments[last]):
        arguments[last] = arguments.get(last, "") + expected[len(sent_arguments[last]) :]


def main() -> None:
    """Read lines of JSON, and print an answer to each line."""
    parser_class = load(Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        tools = [Tool(function=Function(**tool)) for tool in request["tools"]]
        shortest, calls = float("inf"), []
        try:
            for _ in range(request["repeats"]):
                started = time.perf_counter()
                calls = calls_of(parser_class, request["format"], request["pieces"], tools)
                shortest = min(shortest, time.perf_counter() - started)
            print(json.dumps({"calls": calls, "seconds": shortest}), flush=True)
        except Exception as error:
            print(json.dumps({"error": type(error).__name__}), flush=True)


if __name__ == "__main__":
    main()
