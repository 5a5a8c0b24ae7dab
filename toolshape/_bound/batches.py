"""Writes requests as entries of a provider's batch, and accounts for each result line."""

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from toolshape._families.wire.batches import (
    BatchForm,
    BatchResult,
    read_result,
    with_value_at,
)
from toolshape._families.wire.bodies import parse_body
from toolshape._families.wire.nested import as_json
from toolshape._families.wire.provider import Provider
from toolshape._plan.results import Results
from toolshape._plan.steps import HERE, IN_LOOP, Steps, run_here
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ResponseError, UsageError

Dispatch: TypeAlias = Callable[[Any, str | None], Any]
"""Runs the calls of a response under a scope; returns the results, or an awaitable of them."""
_HIDDEN = "its words are not shown here, because they may quote a secret; the body has them"
_MODEL_KEYS = ("model", "modelId")


class BatchLine(NamedTuple):
    """What a batch says to one request: the ``results`` of its calls, or the ``error``.

    ``custom_id`` is the id that the request was written with; ``None`` if the line has lost it.
    ``error`` is a ``ResponseError``: the request failed, expired or was cancelled, its line cannot
    be read, came twice or is missing. Its ``body`` is the line.
    """

    custom_id: str | None
    results: Results | None
    error: ResponseError | None = None


def form_of(provider: Provider) -> BatchForm:
    """Return how a provider's batches are written.

    Raises:
        UsageError: The provider has no batches, or none that are described here.
    """
    if provider.batch is None:
        raise UsageError(f"{provider.name} has no batches that toolshape can write or read")
    return provider.batch


def write_entry(provider: Provider, custom_id: str, request: Mapping[str, Any]) -> JsonObject:
    """Return the entry of a batch for one request; see ``Bound.batch_line``.

    Raises:
        UsageError: The provider has no batches, or does not take this id or this request.
    """
    form = form_of(provider)
    given_id: Any = custom_id
    if not isinstance(given_id, str) or not form.admits_id(given_id):
        raise UsageError(
            f"a batch of {provider.name} takes no id {custom_id!r}: it must match "
            f"{form.id_pattern} ({form.evidence})"
        )
    body = as_json(dict(request))
    for key, reason in form.refuses.items():
        if body.get(key):
            raise UsageError(f"{custom_id}: {key}: {reason} ({form.evidence})")
    has_model = any(body.get(key) for key in _MODEL_KEYS)
    if form.model == "line" and not has_model:
        raise UsageError(f"{custom_id}: each request of a batch of {provider.name} has its model=")
    if form.model == "job":
        body = {key: value for key, value in body.items() if key not in _MODEL_KEYS}
    entry = with_value_at(form.id, custom_id)
    if not form.body:
        return _merged(body, entry)
    return {**entry, **form.fixed, **with_value_at(form.body, body)}


def _merged(body: JsonObject, entry: JsonObject) -> JsonObject:
    """Return a request with its id beside it, where the app may have keys of its own."""
    return {
        **body,
        **{
            key: {**body[key], **value} if isinstance(body.get(key), dict) else value
            for key, value in entry.items()
        },
    }


def check_fingerprint(written: str | None, here: str) -> None:
    """Check that these are the tools with which a batch was written.

    Raises:
        UsageError: They are others.
    """
    if written is not None and written != here:
        raise UsageError(
            f"the batch was written with other tools (fingerprint {written}) than these "
            f"({here}): read it with the Bound that wrote it"
        )


class Reader:
    """Accounts for each line of a batch: whose it is, and whether it may run."""

    def __init__(
        self,
        provider: Provider,
        expected: Collection[str] | None,
        scope: str | None,
        *,
        may_quote: bool = False,
    ) -> None:
        """Take what is known of the batch before its first line.

        Args:
            provider: The provider.
            expected: The ids of all requests, if the caller knows them.
            scope: The scope of the whole batch, if its calls go through a ledger.
            may_quote: Whether an error of the provider may quote a secret; its words then stand in
                the body only.

        Raises:
            UsageError: The provider has no batches, or ``expected`` holds something else than ids.
        """
        self._form = form_of(provider)
        given: Any = expected
        order: Sequence[Any] = () if given is None else tuple(given)
        is_text = isinstance(given, (str, bytes))
        if is_text or not all(isinstance(each, str) for each in order):
            raise UsageError("expected= is a collection of ids, which are texts")
        self._order: Sequence[str] = order
        self._expected: frozenset[str] | None = None if given is None else frozenset(order)
        self._scope = scope
        self._may_quote = may_quote
        self._seen: set[str] = set()
        self._number = 0

    async def settle(self, line: Any, dispatch: Dispatch, steps: Steps) -> BatchLine:
        """Run the calls of one line, or tell why there are none."""
        found = self._look_at(line)
        if isinstance(found, BatchLine):
            return found
        try:
            results = await steps.result_of(dispatch(found.body, self._scope_of(found.request_id)))
        except ResponseError as error:
            told = ResponseError(_HIDDEN, body=error.body) if self._may_quote else error
            return BatchLine(found.request_id, None, told)
        return BatchLine(found.request_id, results)

    def _scope_of(self, custom_id: str | None) -> str | None:
        """Return the scope of one line: ids that were made up of the arguments may be those of
        another line.
        """
        if self._scope is None:
            return None
        own = f"/{self._number}" if custom_id is None else quote(custom_id, safe="")
        return f"{self._scope}/{own}"

    def _look_at(self, line: Any) -> BatchResult | BatchLine:
        """Return the body of a response with its id, or the line as it is told, if it has none."""
        self._number += 1
        if isinstance(line, str):
            line = line.removeprefix("\ufeff")
        try:
            parsed = as_json(parse_body(line))
        except ResponseError:
            return self._refused(None, "is cut off, or is no JSON", line)
        if not isinstance(parsed, dict):
            return self._refused(None, f"is no object but {type(parsed).__name__}", line)
        found = read_result(self._form, parsed)
        custom_id = found.request_id
        if custom_id is None and self._form.is_ordered and self._number <= len(self._order):
            custom_id = self._order[self._number - 1]
        if why := self._why_not(custom_id):
            return self._refused(custom_id, why, line)
        if found.error:
            words = _HIDDEN if self._may_quote else found.error
            error = ResponseError(f"the request has no response: {words}", body=parsed)
            return BatchLine(custom_id, None, error)
        return found._replace(request_id=custom_id)

    def _why_not(self, custom_id: str | None) -> str:
        """Return why a line of this id does not count, or an empty string."""
        if custom_id is None:
            return "" if self._expected is None else "has no id, so nobody knows whose it is"
        if custom_id in self._seen:
            return "came before: only the first is read"
        if self._expected is not None and custom_id not in self._expected:
            return "is not one of expected="
        self._seen.add(custom_id)
        return ""

    def missing(self) -> Iterator[BatchLine]:
        """Yield the ids that were expected and did not come."""
        for custom_id in self._order:
            if custom_id not in self._seen:
                self._seen.add(custom_id)
                error = ResponseError(f"the batch has no line for {custom_id!r}", body=None)
                yield BatchLine(custom_id, None, error)

    def _refused(self, custom_id: str | None, why: str, line: Any) -> BatchLine:
        name = "" if custom_id is None else f" ({custom_id!r})"
        return BatchLine(
            custom_id, None, ResponseError(f"line {self._number}{name} {why}", body=line)
        )


def read(reader: Reader, lines: Any, dispatch: Dispatch) -> Iterator[BatchLine]:
    """Yield what each line says, then the ids that did not come."""
    for line in filter(_is_not_blank, _lines_of(lines)):
        yield run_here(reader.settle(line, dispatch, HERE))
    yield from reader.missing()


async def aread(reader: Reader, lines: Any, dispatch: Dispatch) -> AsyncIterator[BatchLine]:
    """Like ``read``, in a running event loop; the lines may be asynchronous, too."""
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            if _is_not_blank(line):
                yield await reader.settle(line, dispatch, IN_LOOP)
    else:
        for line in filter(_is_not_blank, _lines_of(lines)):
            yield await reader.settle(line, dispatch, IN_LOOP)
    for absent in reader.missing():
        yield absent


def _is_not_blank(line: Any) -> bool:
    return not isinstance(line, (str, bytes, bytearray)) or bool(line.strip())


def _lines_of(given: Any) -> Iterable[Any]:
    """Return the lines of a text, or the items of anything else.

    Raises:
        UsageError: It is not an iterable of lines.
    """
    # Only a line feed ends a line: JSON may hold other ends of lines as they are.
    if isinstance(given, str):
        return given.split("\n")
    if isinstance(given, (bytes, bytearray)):
        return bytes(given).split(b"\n")
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise UsageError(
            f"read_batch takes the lines of a batch's output, not {type(given).__name__}"
        )
    return given
