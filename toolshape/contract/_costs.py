"""Computes what each tool adds to a request: characters, and tokens if a client counts them."""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._bound.bound import Bound
from toolshape._families.wire.provider import Provider
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape._records.shown import shorten
from toolshape._schema.values import values_inside

Count: TypeAlias = Callable[[JsonObject], int]
"""A function that takes a request's keyword arguments, without messages, and
returns the number of input tokens.
"""
_PARTS = ("name", "description", "parameters: descriptions", "parameters: the rest", "the rest")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_QUESTION = "x"


class ToolCost(NamedTuple):
    """The cost of one tool in a request.

    ``tokens`` is the number of tokens that the tool adds, or ``None`` if nothing counted tokens.
    ``characters`` is the length of the tool's entry as JSON, and ``share`` is this length as a
    fraction of all entries. ``parts`` maps each part of the entry to its number of characters.
    ``tags`` are the tool's own.
    """

    tool: str
    tokens: int | None
    characters: int
    share: float
    parts: Mapping[str, int]
    tags: frozenset[str] = frozenset()


class RequestCost(NamedTuple):
    """The cost of all tools in a request.

    ``tokens`` includes the tokens that the tools share. It is ``None`` if nothing counted tokens.
    """

    costs: tuple[ToolCost, ...]
    tokens: int | None
    characters: int

    def __str__(self) -> str:
        width = max([len(cost.tool) for cost in self.costs], default=4)
        lines = [f"{'tool':<{width}}  tokens  characters  share"]
        lines += [
            f"{cost.tool:<{width}}  {'' if cost.tokens is None else cost.tokens:>6}  "
            f"{cost.characters:>10}  "
            f"{cost.share:>5.0%}"
            for cost in sorted(self.costs, key=lambda cost: -cost.characters)
        ]
        total = "" if self.tokens is None else self.tokens
        lines.append(f"{'all':<{width}}  {total:>6}  {self.characters:>10}   100%")
        parts = {part: sum(cost.parts[part] for cost in self.costs) for part in _PARTS}
        shares = [f"{part} {count / self.characters:.0%}" for part, count in parts.items() if count]
        if shares:
            lines.append(f"characters by part: {', '.join(shares)}")
        tags = [f"{tag} {size:,}" for tag, size in self.by_tag().items()]
        if tags:
            lines.append(f"characters by tag: {', '.join(tags)}")
        return "\n".join(lines)

    def by_tag(self) -> dict[str, int]:
        """Return the characters of all tools with a tag, by tag, the largest first.

        A tool with several tags counts for each of them.
        """
        sizes: Counter[str] = Counter()
        for cost in self.costs:
            sizes.update(dict.fromkeys(cost.tags, cost.characters))
        return dict(sorted(sizes.items(), key=lambda each: (-each[1], each[0])))

    def to_json(self) -> str:
        """Return the costs as JSON: an object with ``tokens``,
        ``characters``, ``costs`` by tool and ``by_tag``.
        """
        costs = [
            {**cost._asdict(), "parts": dict(cost.parts), "tags": sorted(cost.tags)}
            for cost in self.costs
        ]
        whole = {
            "tokens": self.tokens,
            "characters": self.characters,
            "costs": costs,
            "by_tag": self.by_tag(),
        }
        return json.dumps(whole, indent=2)


def request_cost(bound: Bound, model: str, count: Any = None) -> RequestCost:
    """Compute what the tools cost in each request.

    Args:
        bound: The tools, bound to a provider.
        model: The model to count tokens for.
        count: Counts tokens. Pass a synchronous client from OpenAI's SDK
            (``responses.input_tokens.count``, for ``openai-responses``) or from Anthropic's SDK
            (``messages.count_tokens``), or a function that takes the keyword arguments of a request
            as a dict. toolshape counts once with all tools, once with no tools, and once without
            each tool. If you omit ``count``, the costs have no tokens, as token counts cannot be
            guessed.

    Raises:
        UsageError: ``count`` cannot count tokens, belongs to another provider, or did not return a
            number of tokens.
    """
    names = [tool.name for tool in bound.tools]
    tags = {tool.name: tool.tags for tool in bound.tools}
    entries = {name: _entry(bound, name) for name in names}
    sizes = {name: len(_text(entry)) for name, entry in entries.items()}
    total_size = sum(sizes.values())
    tokens: dict[str, int] = {}
    total = None
    if count is not None:
        count_tokens = _token_counter(count, model, bound.provider)
        with_all = count_tokens(bound.request())
        total = with_all - count_tokens({})
        tokens = {name: with_all - count_tokens(_request_without(bound, name)) for name in names}
    costs = tuple(
        ToolCost(
            name,
            tokens.get(name),
            sizes[name],
            sizes[name] / total_size if total_size else 0.0,
            _parts(entries[name]),
            tags[name],
        )
        for name in names
    )
    return RequestCost(costs, total, total_size)


def _request_without(bound: Bound, name: str) -> JsonObject:
    other_names = [tool.name for tool in bound.tools if tool.name != name]
    if other_names:
        return bound.subset(other_names).request()
    return {}


def _token_counter(count: Any, model: str, provider: Provider) -> Count:
    """Return a function that counts the tokens of a request.

    Raises:
        UsageError: ``count`` cannot count tokens, or is a client for another provider.
    """
    messages = [{"role": "user", "content": _QUESTION}]
    count_with_anthropic: Any = getattr(getattr(count, "messages", None), "count_tokens", None)
    count_with_openai: Any = getattr(
        getattr(getattr(count, "responses", None), "input_tokens", None), "count", None
    )
    if count_with_anthropic is not None:
        _require(provider, "anthropic", "anthropic")
        return lambda request: _tokens(
            count_with_anthropic(model=model, messages=messages, **request), "input_tokens"
        )
    if count_with_openai is not None:
        _require(provider, "openai-responses", "openai-responses")
        return lambda request: _tokens(
            count_with_openai(model=model, input=_QUESTION, **request), "input_tokens"
        )
    if not callable(count):
        message = (
            "count= must be a client from OpenAI's or Anthropic's SDK, or a function that takes "
            "a request as a dict"
        )
        raise UsageError(f"{message}, not {type(count).__name__}")
    counter: Any = count
    return lambda request: _tokens(counter(request), None)


def _require(provider: Provider, form: str, name: str) -> None:
    if provider.form != form:
        raise UsageError(
            f"this client counts tokens for {name}, but the tools are bound to {provider.name}: "
            f"use bind({name!r})"
        )


def _tokens(given: Any, name: str | None) -> int:
    """Read the number of tokens from the value that the counter returned.

    Raises:
        UsageError: The counter is async, or did not return a number of tokens.
    """
    if inspect.isawaitable(given):
        close = getattr(given, "close", None)
        if close is not None:
            close()
        raise UsageError("count= must not be async: pass a synchronous client or function")
    if name is None:
        tokens = given
    else:
        tokens = getattr(given, name, None)
    if type(tokens) is not int or tokens < 0:
        raise UsageError(f"count= returned {shorten(tokens)}, not a whole number of tokens")
    return tokens


def _entry(bound: Bound, name: str) -> Any:
    """Return the entry for one tool in a request."""
    exported = bound.subset([name]).export()
    if exported:
        return exported[0]
    return {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parts(entry: Any) -> dict[str, int]:
    """Return the number of characters in each part of an entry.

    The numbers add up to the length of the entry.
    """
    named_entry = _named_node(entry) or {}
    schema: Any = next((named_entry[key] for key in _SCHEMAS if key in named_entry), {})
    name, description = str(named_entry.get("name", "")), str(named_entry.get("description", ""))
    is_text = isinstance(schema, str)  # xAI's gRPC takes the schema as a string
    description_size = _description_size(sent_schema(entry))
    schema_rest = 0
    if schema:
        schema_rest = len(schema if is_text else _text(schema)) - description_size
    counts = [len(name), len(description), description_size, schema_rest]
    return dict(zip(_PARTS, [*counts, len(_text(entry)) - sum(counts)], strict=True))


def _named_node(node: Any) -> JsonObject | None:
    """Return the node that has a name and a schema.

    Each provider nests this node at a different place in an entry.
    """
    if isinstance(node, dict) and "name" in node and node.keys() & _SCHEMAS:
        return node
    children = values_inside(node)
    return next(
        (named_node for child in children if (named_node := _named_node(child)) is not None), None
    )


def sent_schema(entry: Any) -> Any:
    """Return the schema of the parameters in an entry, or ``None`` if the entry has none."""
    named_entry = _named_node(entry) or {}
    schema: Any = next((named_entry[key] for key in _SCHEMAS if key in named_entry), None)
    if isinstance(schema, str):  # xAI's gRPC takes a string
        return json.loads(schema)
    # Bedrock wraps it.
    return schema["json"] if isinstance(schema, dict) and schema.keys() == {"json"} else schema


def _description_size(node: Any, *, is_names: bool = False) -> int:
    """Return the total number of characters in the descriptions of a schema."""
    if isinstance(node, list):
        return sum(map(_description_size, node))
    if not isinstance(node, dict):
        return 0
    count = 0
    for key, value in node.items():
        if key == "description" and isinstance(value, str) and not is_names:
            count += len(value)
        else:
            count += _description_size(
                value, is_names=key in ("properties", "$defs") and not is_names
            )
    return count
