# ruff: noqa: RUF001 - special tokens of DeepSeek and Step have full-width bars
"""Runs vLLM's own tool parsers from an unpacked sdist, with empty modules in place of torch and other imports.

``python benchmarks/vllm_parsers.py FOLDER`` reads lines of JSON, ``{format, pieces, tools, repeats}``. The script
answers each line with the calls and the shortest time in seconds. The format is the name of a vLLM parser. If there is
only one piece, the script parses it as a whole text. With ``"marks": "whole"``, a cut inside a special token is moved
behind the token. With ``"alone"``, each special token is also a separate piece, as when a server sends one token at a
time.

Each text is parsed as vLLM's server parses it with ``tool_choice`` auto and no reasoning parser. Each special token is
one token, and so is each other character. A piece comes with the tokens that begin in it. The end of the text is a
separate step without text, with the token that ends a turn. With ``"end": "last"``, the last piece ends the text.
"""

import functools
import importlib
import itertools
import json
import logging
import re
import sys
import time
import types
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from empty_modules import EmptyModule, EmptyType, Finder

END = "<|end_of_turn|>"
DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)
GLM = ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
THINK = ("<think>", "</think>")
MISTRAL = {
    "tool_calls": "[TOOL_CALLS]",
    "args": "[ARGS]",
    "call_id": "[CALL_ID]",
    "begin_think": "[THINK]",
    "end_think": "[/THINK]",
}
# For each parser, the special tokens in the tokenizers of its models.
MARKS: dict[str, tuple[str, ...]] = {
    "apertus": ("<|tools_prefix|>", "<|tools_suffix|>"),
    "cohere_command3": ("<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "cohere_command4": ("<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    "deepseek_v3": (*DEEPSEEK, *THINK),
    "deepseek_v31": (*DEEPSEEK, *THINK),
    "deepseek_v32": ("｜DSML｜", *THINK),
    "deepseek_v4": ("｜DSML｜", *THINK),
    "deepseek_v41": ("｜DSML｜", *THINK),
    "dots": THINK,
    "functiongemma": ("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": ("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>", "<|turn>", "<|tool_response>"),
    "gigachat3": ("<|function_call|>", "<|role_sep|>", "<|message_sep|>"),
    "glm45": (*GLM, *THINK),
    "glm47": (*GLM, *THINK),
    "granite": ("<|tool_call|>",),
    "granite4": ("<tool_call>", "</tool_call>"),
    "granite-20b-fc": (),
    "hermes": ("<tool_call>", "</tool_call>", *THINK),
    "hunyuan_a13b": THINK,
    "hy_v3": ("<tool_calls>", "</tool_calls>", "<tool_sep>", *GLM, *THINK),
    "internlm": ("<|action_start|>", "<|action_end|>", "<|plugin|>"),
    "jamba": ("<tool_calls>", "</tool_calls>"),
    "kimi_k2": ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>", *THINK),
    "kimi_k3": ("<|open|>", "<|close|>", "<|sep|>"),
    "lfm2": ("<|tool_call_start|>", "<|tool_call_end|>"),
    "llama3_json": ("<|python_tag|>",),
    "llama4_pythonic": ("<|python_start|>", "<|python_end|>"),
    "longcat": ("<longcat_tool_call>", "</longcat_tool_call>"),
    "mimo": ("<tool_call>", "</tool_call>", *THINK),
    "minimax_m2": ("<minimax:tool_call>", "</minimax:tool_call>", *THINK),
    "minimax_m3": ("]<]minimax[>[",),
    "mistral": tuple(MISTRAL.values()),
    "mistral_old": ("[TOOL_CALLS]",),
    "muse": ("<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
    "olmo3": ("<function_calls>", "</function_calls>"),
    "phi4_mini_json": (),
    "pythonic": (),
    "qwen3_coder": ("<tool_call>", "</tool_call>", *THINK),
    "seed_oss": ("<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "</seed:think>"),
    "step3": ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>", *THINK),
    "xlam": THINK,
}  # fmt: skip
# For each format of toolshape, the vLLM parsers that read the format.
PARSERS: dict[str, tuple[str, ...]] = {
    "apertus": ("apertus",), "cohere_command": ("cohere_command3",), "deepseek_v3": ("deepseek_v3",), "deepseek_v31": ("deepseek_v31",), "deepseek_v32": ("deepseek_v32",), "deepseek_v41": ("deepseek_v41",), "dots": ("dots",),
    "functiongemma": ("functiongemma",), "gemma4": ("gemma4",), "gigachat3": ("gigachat3",), "glm45": ("glm45",), "granite": ("granite",), "granite_20b": ("granite-20b-fc",), "hermes": ("hermes", "granite4"),
    "hunyuan": ("hy_v3",), "internlm": ("internlm",), "json": ("xlam",), "kimi_k2": ("kimi_k2",), "kimi_k3": ("kimi_k3",), "lfm2": ("lfm2",), "llama3_json": ("llama3_json",), "longcat": ("longcat",), "mimo": ("mimo",),
    "minimax_m2": ("minimax_m2",), "minimax_m3": ("minimax_m3",), "mistral": ("mistral",), "mistral_old": ("mistral_old",), "muse": ("muse",), "olmo3": ("olmo3",), "phi4": ("phi4_mini_json",),
    "pythonic": ("pythonic", "llama4_pythonic"), "qwen3_coder": ("qwen3_coder",), "seed_oss": ("seed_oss",), "step3": ("step3",), "tool_calls": ("jamba", "hunyuan_a13b"),
}  # fmt: skip
EMPTY = {
    "torch",
    "transformers",
    "xgrammar",
    "triton",
    "prometheus_client",
    "mistral_common",
    "openai_harmony",
}
PACKAGES = {
    "vllm", "vllm.entrypoints", "vllm.entrypoints.generate", "vllm.entrypoints.generate.base", "vllm.entrypoints.cohere", "vllm.entrypoints.openai", "vllm.entrypoints.openai.chat_completion", "vllm.entrypoints.serve",
    "vllm.entrypoints.serve.engine", "vllm.parser", "vllm.renderers", "vllm.renderers.chat_utils", "vllm.utils",
}  # fmt: skip
READ = (
    "vllm.entrypoints.cohere.cohere_chat_message", "vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.openai.chat_completion.protocol", "vllm.entrypoints.serve.engine.protocol", "vllm.envs", "vllm.exceptions", "vllm.parser.", "vllm.reasoning",
    "vllm.renderers.chat_utils.tool_call", "vllm.tool_parsers", "vllm.utils.collection_utils",
)  # fmt: skip
LEFT_OUT = ("vllm.parser.metrics", "vllm.tool_parsers.structural_tag_registry")


def is_empty(name: str) -> bool:
    """Return whether vLLM's parsers get an empty module in place of a module."""
    top_package = name.split(".", maxsplit=1)[0]
    is_left_out = not name.startswith(READ) or name in LEFT_OUT
    return is_left_out if top_package == "vllm" else top_package in EMPTY


class Logger(logging.Logger):
    """A logger with the methods that vLLM adds."""

    def warning_once(self, *_: Any, **__: Any) -> None:
        """Do nothing."""

    info_once = debug_once = warning_once


class Tokenizer:
    """A tokenizer whose tokens are marks and single characters."""

    is_fast = True
    eos_token = END
    eos_token_id = 0

    def __init__(self, marks: Sequence[str]) -> None:
        texts = [END, *dict.fromkeys(marks), *map(chr, range(0x250))]
        self.ids = {text: token_id for token_id, text in enumerate(texts)}
        self.texts = dict(enumerate(texts))
        self.all_special_tokens = [END]
        self.all_special_ids = [0]
        self.init_kwargs: dict[str, Any] = {}
        escaped = [re.escape(mark) for mark in sorted(marks, key=len, reverse=True)]
        self.pattern = re.compile("|".join([*escaped, "."]), re.DOTALL)

    def tokenize(self, text: str, **_: Any) -> list[str]:
        """Split a text into tokens, and register new tokens."""
        tokens: list[str] = self.pattern.findall(text)
        for token in tokens:
            if token not in self.ids:
                self.texts[len(self.ids)] = token
                self.ids[token] = len(self.ids)
        return tokens

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return self.ids

    vocab = property(get_vocab)

    def encode(self, text: str, **_: Any) -> list[int]:
        """Return the ids of the tokens of a text."""
        return [self.ids[token] for token in self.tokenize(text)]

    def decode(self, ids: Any, **_: Any) -> str:
        """Return the text of some ids."""
        return "".join(
            self.texts[token_id] for token_id in ([ids] if isinstance(ids, int) else ids)
        )

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the id of a token, or the ids of some tokens."""
        return (
            self.ids.get(tokens)
            if isinstance(tokens, str)
            else [self.ids.get(token) for token in tokens]
        )

    def convert_ids_to_tokens(self, ids: Any, **_: Any) -> Any:
        """Return the token of an id, or the tokens of some ids."""
        return (
            self.texts[ids] if isinstance(ids, int) else [self.texts[token_id] for token_id in ids]
        )

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """Return the text of some tokens."""
        return "".join(tokens)


def load(folder: Path) -> None:
    """Prepare the import of vLLM's parsers from a folder."""
    logging.disable(logging.CRITICAL)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    sys.meta_path.insert(0, Finder(is_empty))
    for name in sorted(PACKAGES):
        module = EmptyModule(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]  # type: ignore[misc]
        sys.modules[name] = module
    members_by_module: dict[str, dict[str, Any]] = {
        "vllm.logger": {"init_logger": Logger},
        "vllm.parser.metrics": {"record_tool_parser_invocation": lambda **_: None},
        "vllm.utils": {"random_uuid": lambda: uuid.uuid4().hex[:16]},
        "vllm.utils.mistral": {"is_mistral_tokenizer": lambda _: False},
        "vllm.renderers": {},
    }
    for name, members in members_by_module.items():
        vars(sys.modules.setdefault(name, EmptyModule(name))).update(members)
    vars(sys.modules["vllm.renderers.chat_utils"]).update(
        vars(importlib.import_module("vllm.renderers.chat_utils.tool_call"))
    )
    special_tokens = importlib.import_module("mistral_common.tokens.tokenizers.base").SpecialTokens
    if isinstance(special_tokens, EmptyType):
        for name, mark in MISTRAL.items():
            setattr(special_tokens, name, types.SimpleNamespace(value=mark))


@functools.cache
def parser_of(name: str) -> Any:
    """Return the class that parses a whole answer, as vLLM's ``ParserManager`` creates it."""
    tool_parser = importlib.import_module("vllm.tool_parsers").ToolParserManager.get_tool_parser(
        "mistral" if name == "mistral_old" else name
    )
    module, base = {
        "kimi_k3": ("kimi_k3", "KimiK3Parser"),
        "cohere_command3": ("cohere_command", "CohereCommandParser"),
        "cohere_command4": ("cohere_command", "CohereCommandParser"),
    }.get(name, ("abstract_parser", "DelegatingParser"))
    parent = getattr(importlib.import_module(f"vllm.parser.{module}"), base)
    return type(base, (parent,), {"tool_parser_cls": tool_parser})


@functools.cache
def tokenizer_of(name: str) -> Tokenizer:
    """Return a tokenizer with the special tokens of a parser's models."""
    return Tokenizer(MARKS[name])


def make_request(tools: list[Any]) -> Any:
    """Return a vLLM chat request with some tools."""
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    request = protocol.ChatCompletionRequest(
        messages=[{"role": "user", "content": ""}], model="model"
    )
    request.tools = [protocol.ChatCompletionToolsParam(function=tool) for tool in tools] or None
    request.tool_choice = "auto"
    return request


def with_whole_marks(name: str, pieces: list[str], *, are_alone: bool) -> list[str]:
    """Return the pieces of a text, with each cut inside a special token moved behind the token.

    If ``are_alone`` is true, each special token becomes a separate piece.
    """
    text, end_of_token = "".join(pieces), 0
    cuts = set(itertools.accumulate(map(len, pieces)))
    marks = MARKS[name]
    for token in tokenizer_of(name).tokenize(text):
        start, end_of_token = end_of_token, end_of_token + len(token)
        if token in marks:
            cuts_inside = cuts & set(range(start + 1, end_of_token))
            cuts -= cuts_inside
            cuts |= {start, end_of_token} if are_alone else {end_of_token} if cuts_inside else set()
    return [text[start:end] for start, end in itertools.pairwise(sorted({0, *cuts}))]


def steps_of(name: str, pieces: list[str]) -> list[tuple[str, list[int]]]:
    """Return each piece with the ids of the tokens that begin in it."""
    tokenizer = tokenizer_of(name)
    tokens, starts, position = tokenizer.tokenize("".join(pieces)), [], 0
    for token in tokens:
        starts.append(position)
        position += len(token)
    steps, position, token_index = [], 0, 0
    for piece in pieces:
        position, ids = position + len(piece), []
        while token_index < len(tokens) and starts[token_index] < position:
            ids.append(tokenizer.ids[tokens[token_index]])
            token_index += 1
        steps.append((piece, ids))
    return steps


def parse_whole(name: str, said: str, ids: list[int], request: Any) -> list[list[Any]]:
    """Parse a whole text, and return its calls."""
    parser = parser_of(name)(tokenizer_of(name), request.tools)
    _, _, calls = parser.parse(said, request, enable_auto_tools=True, model_output_token_ids=ids)
    return [[call.name, call.arguments] for call in calls or []]


def parse_streamed(
    name: str, steps: list[tuple[str, list[int]]], request: Any, end: str = "step"
) -> list[list[Any]]:
    """Parse a text that arrives piece by piece; return the calls that a client assembles from the deltas."""
    parser = parser_of(name)(tokenizer_of(name), request.tools)
    if end == "step":
        steps = [*steps, ("", [0])]
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for index, (piece, ids) in enumerate(steps):
        message = parser.parse_delta(piece, ids, request, [], finished=index == len(steps) - 1)
        for call in message.tool_calls if message is not None else []:
            names.setdefault(call.index, "")
            arguments.setdefault(call.index, "")
            if call.function is not None:
                names[call.index] += call.function.name or ""
                arguments[call.index] += call.function.arguments or ""
    return [[names[index], arguments[index]] for index in sorted(names)]


def main() -> None:
    """Read lines of JSON, and print an answer to each line."""
    load(Path(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        shortest_time, calls = float("inf"), []
        try:
            name, pieces, request = job["format"], job["pieces"], make_request(job["tools"])
            if "marks" in job:
                pieces = with_whole_marks(name, pieces, are_alone=job["marks"] == "alone")
            steps = steps_of(name, pieces)
            for _ in range(job["repeats"]):
                started = time.perf_counter()
                if len(pieces) == 1:
                    calls = parse_whole(name, *steps[0], request)
                else:
                    calls = parse_streamed(name, steps, request, job.get("end", "step"))
                shortest_time = min(shortest_time, time.perf_counter() - started)
            print(json.dumps({"calls": calls, "seconds": shortest_time}), flush=True)
        except Exception as error:
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}), flush=True)


if __name__ == "__main__":
    main()
