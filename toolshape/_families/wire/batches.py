"""How a provider's batches hold a request and its result: an entry, or a line of a file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._records.calls import JsonObject

Path: TypeAlias = tuple[str, ...]


_FAILED = 400


class ResultPlace(NamedTuple):
    """Where one result holds the id of its request, the body of the response, and an error.

    Each is a path of keys. What stands at ``error`` is no error where a body stands, unless the
    ``status`` says so.
    """

    id: Path
    body: Path
    error: Path
    status: Path = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BatchForm:
    """How a provider's batch holds one request, and where its results have what.

    Args:
        id: The path of the request's id.
        body: The path of the request's body; empty if the body and the id stand side by side.
        fixed: Further keys of every entry, with their values.
        id_pattern: What an id must match.
        model: Whether the model stands in the request (``"line"``), is an option of the whole batch
            and must not stand in a request (``"job"``), or may stand in both (``"either"``).
        refuses: Keys of a request that a batch does not take, each with the reason.
        results: Where a result has what; the first place with an id, a body or an error counts.
        is_ordered: Whether results without an id come in the order of the requests.
        evidence: The source of this form, with its date.
    """

    id: Path
    body: Path
    fixed: Mapping[str, str] = field(default_factory=dict)
    id_pattern: str = r"(?s).+"
    model: Literal["line", "job", "either"]
    refuses: Mapping[str, str] = field(default_factory=dict)
    results: tuple[ResultPlace, ...]
    is_ordered: bool = False
    evidence: str

    def admits_id(self, request_id: str) -> bool:
        """Whether a request may have this id."""
        return re.fullmatch(self.id_pattern, request_id) is not None


class BatchResult(NamedTuple):
    """What one result says: the id of its request, and the body of the response; or the kind of an
    ``error``, and its ``words``, which may quote what a model wrote.
    """

    request_id: str | None
    body: Any
    error: str = ""
    words: str = ""


def read_result(form: BatchForm, line: JsonObject) -> BatchResult:
    """Read one result; without a body and without an error, the error says so."""
    place = next(filter(lambda place: _is_there(line, place), form.results), form.results[0])
    found = value_at(line, place.id)
    request_id = found if isinstance(found, str) else None
    body = value_at(line, place.body)
    status = value_at(line, place.status) if place.status else None
    has_failed = isinstance(status, int) and status >= _FAILED
    if body is not None and not has_failed:
        return BatchResult(request_id, body)
    errors = [value_at(line, place.error), *([body] if has_failed else [])]
    kinds = [*([str(status)] if has_failed else []), *_words_of(errors, _KINDS)]
    words = ", ".join(dict.fromkeys(_words_of(errors, _MESSAGES)))
    if not kinds and not words:
        kinds = ["the line has neither a response nor an error"]
    return BatchResult(request_id, None, ", ".join(dict.fromkeys(kinds)) or "an error", words)


def _is_there(line: JsonObject, place: ResultPlace) -> bool:
    return isinstance(value_at(line, place.id), str)


def value_at(node: Any, path: Path) -> Any:
    """Return what stands at a path of keys, or ``None``."""
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def with_value_at(path: Path, value: Any) -> JsonObject:
    """Return an object that holds only this value, at a path of keys."""
    for key in reversed(path):
        value = {key: value}
    written: JsonObject = value
    return written


_KINDS = ("type", "code", "errorCode")
_MESSAGES = ("message", "errorMessage")


def _words_of(errors: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield what errors say under these keys, from the outside in; a text is a message."""
    for error in errors:
        if isinstance(error, Mapping):
            for key in keys:
                if error.get(key) not in (None, "", "error"):
                    yield str(error[key])
            yield from _words_of([error.get("error")], keys)
        elif error is not None and keys is _MESSAGES:
            yield str(error)
