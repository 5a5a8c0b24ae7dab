"""Writes requests as entries of a provider's batch, and accounts for each result line."""

import re
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, NamedTuple, Protocol
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
from toolshape._function import calling
from toolshape._function.calling.returned import is_async
from toolshape._plan.results import Results
from toolshape._plan.run_options import refuse_unknown
from toolshape._plan.steps import HERE, IN_LOOP, Steps, run_here
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ResponseError, UsageError
from toolshape._tools.tool import Tool, record_of

_HIDDEN = "its words are not shown here, because they may quote a secret; the body has them"
_MODEL_KEYS = ("model", "modelId")
_HALF = re.compile("[\ud800-\udfff]")


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
    if _HALF.search(given_id):
        raise UsageError(
            f"a batch takes no id {custom_id!r}: half of a character cannot be written to a file"
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


class Accounts:
    """Accounts for each line of a batch: whose it is, and whether it may run."""

    def __init__(
        self, provider: Provider, expected: Iterable[str] | None, *, may_quote: bool
    ) -> None:
        """Take what is known of the batch before its first line.

        Args:
            provider: The provider.
            expected: The ids of all requests, if the caller knows them.
            may_quote: Whether an error of the provider may quote a secret; its words then stand in
                the body only.

        Raises:
            UsageError: The provider has no batches, or ``expected`` holds something else than ids.
        """
        self._form = form_of(provider)
        given: Any = expected
        ids: Sequence[Any] = () if given is None else tuple(given)
        is_text = isinstance(given, (str, bytes))
        if is_text or not all(isinstance(each, str) for each in ids):
            raise UsageError("expected= is a collection of ids, which are texts")
        self._ids: Sequence[str] = ids
        # A set has no order, and a line whose id stands elsewhere proves that the lines have none.
        self._is_in_order = self._form.is_ordered and not isinstance(given, (set, frozenset))
        self._expected: frozenset[str] | None = None if given is None else frozenset(ids)
        self._may_quote = may_quote
        self._seen: set[str] = set()
        self.number = 0  # of the last line

    def look_at(self, line: Any) -> BatchResult | BatchLine:
        """Return the body of a response with its id, or the line as it is told, if it has none."""
        self.number += 1
        if isinstance(line, str):
            line = line.removeprefix("\ufeff")
        try:
            parsed = as_json(parse_body(line))
        except ResponseError:
            return self._refused(None, "is cut off, or is no JSON", line)
        if not isinstance(parsed, dict):
            return self._refused(None, f"is no object but {type(parsed).__name__}", line)
        found = read_result(self._form, parsed)
        custom_id, here = found.request_id, self._id_at_this_place()
        if custom_id is None:
            custom_id = here
        elif custom_id != here:
            self._is_in_order = False
        if why := self._why_not(custom_id):
            return self._refused(custom_id, why, line)
        if found.error:
            kind = f"the request has no response: {found.error}"
            return self.failed(custom_id, kind, found.words, parsed)
        return found._replace(request_id=custom_id)

    def _id_at_this_place(self) -> str | None:
        """Return the id of the line by its place, if the lines are in the order of ``expected``."""
        if not self._is_in_order or self.number > len(self._ids):
            return None
        return self._ids[self.number - 1]

    def failed(self, custom_id: str | None, kind: str, words: str, body: Any) -> BatchLine:
        """Tell an error with its kind and the provider's words, which may quote a secret."""
        said = _HIDDEN if words and self._may_quote else words
        text = ", ".join(filter(None, (kind, said)))
        return BatchLine(custom_id, None, ResponseError(text, body=body))

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
        for custom_id in self._ids:
            if custom_id not in self._seen:
                self._seen.add(custom_id)
                error = ResponseError(f"the batch has no line for {custom_id!r}", body=None)
                yield BatchLine(custom_id, None, error)

    def _refused(self, custom_id: str | None, why: str, line: Any) -> BatchLine:
        name = "" if custom_id is None else f" ({custom_id!r})"
        return BatchLine(
            custom_id, None, ResponseError(f"line {self.number}{name} {why}", body=line)
        )


class Runner(Protocol):
    """What runs the calls of a response: a ``Bound``."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the tools."""
        ...

    @property
    def tools(self) -> Sequence[Tool[..., Any]]:
        """The tools."""
        ...

    @property
    def dispatch(self) -> Callable[..., Results]:
        """Runs the calls."""
        ...

    @property
    def adispatch(self) -> Callable[..., Awaitable[Results]]:
        """Runs the calls in a loop."""
        ...


class BatchReader(NamedTuple):
    """How the calls of a batch are run: by what, and under which options."""

    runner: Runner
    accounts: Accounts
    context: Any
    options: Mapping[str, Any]


def open_reader(
    runner: Runner,
    accounts: Accounts,
    fingerprint: str | None,
    context: Any,
    options: Mapping[str, Any],
) -> BatchReader:
    """Check what can be checked before a line is read; see ``Bound.read_batch``.

    Raises:
        TypeError: An option does not exist.
        UsageError: The batch was written with other tools.
    """
    refuse_unknown(options)
    if fingerprint is not None and fingerprint != runner.fingerprint:
        raise UsageError(
            f"the batch was written with other tools (fingerprint {fingerprint}) than these "
            f"({runner.fingerprint}): read it with the Bound that wrote it"
        )
    return BatchReader(runner, accounts, context, options)


async def _settle(reader: BatchReader, line: Any, steps: Steps) -> BatchLine:
    """Run the calls of one line, or tell why there are none."""
    runner, accounts, context, options = reader
    found = accounts.look_at(line)
    if isinstance(found, BatchLine):
        return found
    custom_id, scope = found.request_id, options.get("scope")
    if scope is not None:
        # Ids that were made up of the arguments are the same in two lines, so a line has a scope of
        # its own.
        own = (
            f"/{accounts.number}"
            if custom_id is None
            else quote(custom_id, safe="", errors="surrogatepass")
        )
        options = {**options, "scope": f"{scope}/{own}"}
    dispatch: Any = runner.adispatch if steps.is_loop else runner.dispatch
    try:
        results = await steps.result_of(dispatch(found.body, context=context, **options))
    except ResponseError as error:
        return accounts.failed(custom_id, "its response cannot be read", str(error), error.body)
    return BatchLine(custom_id, results)


def read(reader: BatchReader, lines: Any) -> Iterator[BatchLine]:
    """Return an iterator over what each line says, then the ids that did not come.

    Raises:
        UsageError: A tool is async, and an event loop is running. No line was read.
    """
    for tool in reader.runner.tools:
        if is_async(record_of(tool).definition.kind) and calling.aio.is_running():
            raise UsageError(
                f"{tool.name} is async and an event loop is running: use aread_batch instead"
            )
    return _read(reader, lines)


def _read(reader: BatchReader, lines: Any) -> Iterator[BatchLine]:
    for line in lines_in(lines):
        yield run_here(_settle(reader, line, HERE))
    yield from reader.accounts.missing()


async def aread(reader: BatchReader, lines: Any) -> AsyncIterator[BatchLine]:
    """Like ``read``, in a running event loop; the lines may be asynchronous, too."""
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            if _is_not_blank(line):
                yield await _settle(reader, line, IN_LOOP)
    else:
        for line in lines_in(lines):
            yield await _settle(reader, line, IN_LOOP)
    for absent in reader.accounts.missing():
        yield absent


def _is_not_blank(line: Any) -> bool:
    return not isinstance(line, (str, bytes, bytearray)) or bool(line.strip())


def lines_in(given: Any) -> Iterable[Any]:
    """Return the lines of a text, or the items of anything else, without blank lines.

    Raises:
        UsageError: It is not an iterable of lines.
    """
    # Only a line feed ends a line: JSON may hold other ends of lines as they are.
    if isinstance(given, str):
        return filter(_is_not_blank, given.split("\n"))
    if isinstance(given, (bytes, bytearray)):
        return filter(_is_not_blank, bytes(given).split(b"\n"))
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise UsageError(
            f"read_batch takes the lines of a batch's output, not {type(given).__name__}"
        )
    return filter(_is_not_blank, given)
