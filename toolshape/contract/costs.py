"""What is bound, and a client that counts, in; what each tool costs in tokens, and by part in characters, out."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape.bound import Bound
from toolshape.calls import JsonObject
from toolshape.errors import UsageError

__all__ = ["Bill", "Cost", "Count", "bill"]

Count: TypeAlias = Callable[[JsonObject], int]
"""Takes the keywords of a request, without messages, and gives its input tokens."""
_PARTS = ("name", "description", "parameters: descriptions", "parameters: the rest", "the rest")
_QUESTION = "x"


class Cost(NamedTuple):
    """What one tool costs: ``tokens`` are those that a request has less without it (``None``: nobody counted).

    ``characters`` is the length of its entry as JSON, ``share`` its part of all entries, and ``parts`` are the characters
    of its parts.
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
        return "\n".join([*lines, f"{'all':<{wide}}  {total:>6}  {self.characters:>10}   100%"])


def bill(bound: Bound, model: str, count: Any = None) -> Bill:
    """Say what tools cost in each request.

    Args:
        bound: The tools at a provider.
        model: The model that is asked.
        count: Who counts: a client of OpenAI's (``responses.input_tokens.count``) or Anthropic's SDK
            (``messages.count_tokens``), or a function of the keywords of a request. It is asked once for all tools, once
            for none, and once without each. Without it no tokens are said: they cannot be guessed.

    Raises:
        UsageError: It is no such client, or one of another provider.
    """
    names = [tool.name for tool in bound.tools]
    entries = {name: _entry(bound, name) for name in names}
    sizes = {name: len(_text(entry)) for name, entry in entries.items()}
    whole = sum(sizes.values())
    tokens: dict[str, int] = {}
    total = None
    if count is not None:
        ask = _counting(count, model)
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


def _counting(count: Any, model: str) -> Count:
    messages = [{"role": "user", "content": _QUESTION}]
    counter: Any = getattr(getattr(count, "messages", None), "count_tokens", None)
    if counter is not None:
        return lambda request: int(counter(model=model, messages=messages, **request).input_tokens)
    counting: Any = getattr(getattr(getattr(count, "responses", None), "input_tokens", None), "count", None)
    if counting is not None:
        return lambda request: int(counting(model=model, input=_QUESTION, **request).input_tokens)
    if not callable(count):
        message = "count= is a client of OpenAI's or Anthropic's SDK, or a function of the keywords of a request"
        raise UsageError(f"{message}, not {type(count).__name__}")
    own: Any = count
    return lambda request: int(own(request))


def _entry(bound: Bound, name: str) -> Any:
    """What is sent of one tool."""
    exported = bound.subset([name]).export()
    return exported[0] if exported else {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parts(entry: Any) -> dict[str, int]:
    """The characters of the parts of an entry, which add up to all of them."""
    inner = entry.get("function", entry) if isinstance(entry, dict) else {}
    schema: Any = next(
        (inner[key] for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema") if key in inner),
        {},
    )
    name, description = str(inner.get("name", "")), str(inner.get("description", ""))
    said = _said(schema)
    rest = len(_text(schema)) - said if schema else 0
    counts = [len(name), len(description), said, rest]
    return dict(zip(_PARTS, [*counts, len(_text(entry)) - sum(counts)], strict=True))


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
