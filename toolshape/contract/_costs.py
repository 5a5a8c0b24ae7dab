"""What is bound, and a client that counts, in; what each tool costs in tokens, and by part in characters, out."""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._bound import Bound
from toolshape._calls import JsonObject, shortened
from toolshape._errors import UsageError
from toolshape._wire.provider import Provider

Count: TypeAlias = Callable[[JsonObject], int]
"""Takes the keywords of a request, without messages, and gives its input tokens."""
_PARTS = ("name", "description", "parameters: descriptions", "parameters: the rest", "the rest")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_QUESTION = "x"


class Cost(NamedTuple):
    """What one tool costs: ``tokens`` are those that a request has less without it (``None``: nobody counted).

    ``characters`` is the length of its entry as JSON, ``share`` its part of all entries, and ``parts`` are the
    characters of its parts.
    """

    tool: str
    tokens: int | None
    characters: int
    share: float
    parts: Mapping[str, int]


class Bill(NamedTuple):
    """What tools cost in each request: ``tokens`` of all of them together, what they share among it (``None``: not counted)."""

    costs: tuple[Cost, ...]
    tokens: int | None
    characters: int

    def __str__(self) -> str:
        wide = max([len(one.tool) for one in self.costs], default=4)
        lines = [f"{'tool':<{wide}}  tokens  characters  share"]
        lines += [
            f"{one.tool:<{wide}}  {'' if one.tokens is None else one.tokens:>6}  {one.characters:>10}  {one.share:>5.0%}"
            for one in sorted(self.costs, key=lambda one: -one.characters)
        ]
        total = "" if self.tokens is None else self.tokens
        lines.append(f"{'all':<{wide}}  {total:>6}  {self.characters:>10}   100%")
        parts = {part: sum(one.parts[part] for one in self.costs) for part in _PARTS}
        shares = [f"{part} {count / self.characters:.0%}" for part, count in parts.items() if count]
        return "\n".join([*lines, *([f"of these: {', '.join(shares)}"] if shares else [])])

    def to_json(self) -> str:
        """The bill as JSON: an object with ``tokens``, ``characters`` and ``costs``, one for each tool."""
        costs = [{**one._asdict(), "parts": dict(one.parts)} for one in self.costs]
        return json.dumps({"tokens": self.tokens, "characters": self.characters, "costs": costs}, indent=2)


def bill(bound: Bound, model: str, count: Any = None) -> Bill:
    """Say what tools cost in each request.

    Args:
        bound: The tools at a provider.
        model: The model that is asked.
        count: Who counts: a client of OpenAI's (``responses.input_tokens.count``, for ``openai-responses``) or
            Anthropic's SDK (``messages.count_tokens``), none of them async; or a function of the keywords of a request.
            It is asked once for all tools, once for none, and once without each. Without it no tokens are said: they
            cannot be guessed.

    Raises:
        UsageError: It is no such client, one of another provider, or said something else than a number of tokens.
    """
    names = [tool.name for tool in bound.tools]
    entries = {name: _entry(bound, name) for name in names}
    sizes = {name: len(_text(entry)) for name, entry in entries.items()}
    whole = sum(sizes.values())
    tokens: dict[str, int] = {}
    total = None
    if count is not None:
        ask = _counting(count, model, bound.provider)
        all_of_it = ask(bound.request())
        total = all_of_it - ask({})
        tokens = {name: all_of_it - ask(_without(bound, name)) for name in names}
    costs = tuple(
        Cost(name, tokens.get(name), sizes[name], sizes[name] / whole if whole else 0.0, _parts(entries[name]))
        for name in names
    )
    return Bill(costs, total, whole)


def _without(bound: Bound, name: str) -> JsonObject:
    rest = [tool.name for tool in bound.tools if tool.name != name]
    return bound.subset(rest).request() if rest else {}


def _counting(count: Any, model: str, provider: Provider) -> Count:
    """Who counts, as a function of the keywords of a request.

    Raises:
        UsageError: It is nobody who counts, or a client of another provider.
    """
    messages = [{"role": "user", "content": _QUESTION}]
    of_anthropic: Any = getattr(getattr(count, "messages", None), "count_tokens", None)
    of_openai: Any = getattr(getattr(getattr(count, "responses", None), "input_tokens", None), "count", None)
    if of_anthropic is not None:
        _require(provider, "anthropic", "anthropic")
        return lambda request: _tokens(of_anthropic(model=model, messages=messages, **request), "input_tokens")
    if of_openai is not None:
        _require(provider, "openai-responses", "openai-responses")
        return lambda request: _tokens(of_openai(model=model, input=_QUESTION, **request), "input_tokens")
    if not callable(count):
        message = "count= is a client of OpenAI's or Anthropic's SDK, or a function of the keywords of a request"
        raise UsageError(f"{message}, not {type(count).__name__}")
    own: Any = count
    return lambda request: _tokens(own(request), None)


def _require(provider: Provider, form: str, name: str) -> None:
    if provider.form != form:
        raise UsageError(
            f"that client counts what {name} takes, and the tools are bound to {provider.name}: bind({name!r})"
        )


def _tokens(given: Any, name: str | None) -> int:
    """How many tokens somebody said."""
    if inspect.isawaitable(given):
        close = getattr(given, "close", None)
        if close is not None:
            close()
        raise UsageError("count= is asked without a loop: a client or a function that is not async counts")
    found = given if name is None else getattr(given, name, None)
    if type(found) is not int or found < 0:
        raise UsageError(f"count= said {shortened(found)}, and tokens are a whole number")
    return found


def _entry(bound: Bound, name: str) -> Any:
    """What is sent of one tool."""
    exported = bound.subset([name]).export()
    return exported[0] if exported else {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parts(entry: Any) -> dict[str, int]:
    """The characters of the parts of an entry, which add up to all of them."""
    inner = _named(entry) or {}
    schema: Any = next((inner[key] for key in _SCHEMAS if key in inner), {})
    name, description = str(inner.get("name", "")), str(inner.get("description", ""))
    is_text = isinstance(schema, str)  # xAI's gRPC
    said = _said(json.loads(schema) if is_text else schema)
    rest = len(schema if is_text else _text(schema)) - said if schema else 0
    counts = [len(name), len(description), said, rest]
    return dict(zip(_PARTS, [*counts, len(_text(entry)) - sum(counts)], strict=True))


def _named(node: Any) -> JsonObject | None:
    """What has a name and a schema, in whatever a provider has around it."""
    if isinstance(node, dict) and "name" in node and node.keys() & _SCHEMAS:
        return node
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return next((found for one in inner if (found := _named(one)) is not None), None)


def _said(node: Any, *, is_names: bool = False) -> int:
    """The characters of all descriptions in a schema."""
    if isinstance(node, list):
        return sum(map(_said, node))
    if not isinstance(node, dict):
        return 0
    found = 0
    for key, value in node.items():
        if key == "description" and isinstance(value, str) and not is_names:
            found += len(value)
        else:
            found += _said(value, is_names=key in ("properties", "$defs") and not is_names)
    return found
