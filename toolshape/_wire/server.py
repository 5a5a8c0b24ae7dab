"""What a provider's server reads and writes, as records: a request, what a model says to it, and a refusal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._calls import ChoiceMode, Finish, JsonObject, WireCall

Framing: TypeAlias = Literal["sse", "named-sse", "ndjson", "event-stream", "json-array"]


class SentTool(NamedTuple):
    """One tool of a request, as the provider sees it.

    ``path`` and ``schema_path`` are places in the request, ``number`` is that among all tools of it; ``schema`` is
    ``None`` where none was sent. ``dialect`` is the name of the provider whose rules hold for the schema, where an API
    has several places for one.
    """

    path: str
    number: int
    name: Any
    description: str
    schema_path: str
    schema: Any
    is_strict: bool
    entry: JsonObject
    dialect: str = ""


class RequestRead(NamedTuple):
    """A request: its tools, how many of the provider's own stand beside them, the choice among them, and the rest.

    ``mode`` is ``"auto"``, ``"none"`` or ``"required"``, ``None`` where nothing is said; ``names`` are the tools of
    which one must be called. ``wants_usage`` is whether a stream ends with what it cost.
    """

    body: JsonObject
    tools: tuple[SentTool, ...]
    messages: tuple[JsonObject, ...]
    native: int = 0
    mode: ChoiceMode | None = None
    names: tuple[str, ...] = ()
    parallel: bool | None = None
    is_strict: bool = False
    wants_usage: bool = True


class Completion(NamedTuple):
    """What a model says in one response; ``id`` is what makes the ids of the response its own.

    ``usage`` are the tokens of the request and of the response, if they are told.
    """

    model: str
    id: str
    text: str = ""
    calls: tuple[WireCall, ...] = ()
    reasoning: str = ""
    finish: Finish = "stop"
    usage: tuple[int, int] | None = (1, 1)
    is_streamed: bool = False


class Endpoint(NamedTuple):
    """Where a provider is asked, how its streams are framed, and how its SDK finds it.

    ``path`` is a regular expression of the whole path, which may hold the ``model`` and a ``verb``; where a verb is
    given, ``streaming_verb`` says that a stream is asked for, else the field ``stream`` does, and ``streams`` is what
    holds where that is left out. ``is_done`` is whether a stream ends with ``[DONE]``, ``event_key`` is the key of an
    event that holds its name, for framings that name events. ``sse_query`` is the query without which a stream is a
    JSON array. ``variables`` are those that the SDK reads, with ``{url}`` for the address, ``http`` is the library
    whose clients it takes.
    """

    path: str
    framing: Framing
    is_done: bool = False
    event_key: str = "type"
    streams: bool = False
    streaming_verb: str = ""
    sse_query: str = ""
    variables: Mapping[str, str] = MappingProxyType({})
    http: Literal["httpx", "httpx2"] = "httpx2"


class RequestFault(NamedTuple):
    """What is wrong with a request: a place, a rule, what our check says, and the evidence of the rule with its date.

    ``tool`` is the name of the tool that it is about and ``number`` its place among them, ``place`` a place in its
    schema; ``subject`` is what the rule is about, as a keyword or an id. ``given`` is how much or what was sent,
    ``most`` the limit.
    """

    path: str
    rule: str
    message: str
    evidence: str = ""
    tool: str = ""
    number: int = 0
    place: str = ""
    subject: str = ""
    given: str = ""
    most: str = ""


class Refusal(NamedTuple):
    """What a provider answers in place of a response; ``code`` is its word for it, ``param`` the place that it names."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


ErrorReply: TypeAlias = tuple[Mapping[str, str], JsonObject]
"""The headers and the body of an error."""


class Wording(NamedTuple):
    """How a provider words a rule, as it was recorded.

    ``message`` and ``param`` are templates over the fields of a ``RequestFault``; ``{context}`` is its place as a tuple
    of keys, ``{properties}`` the same as a path of them, and ``{message_path}`` the place of the message that it is
    about.
    """

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None


RequestCheck: TypeAlias = Callable[[RequestRead], Iterable[RequestFault]]


class RequestRule(NamedTuple):
    """A check of a whole request, and where the provider's rule is written down or was seen, with its date."""

    check: RequestCheck
    evidence: str


def request_rules(evidence: str, *checks: RequestCheck) -> tuple[RequestRule, ...]:
    """Checks that rest on one piece of evidence."""
    return tuple(RequestRule(check, evidence) for check in checks)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Server:
    """How a provider's server reads a request and answers it, as far as a fake needs.

    Args:
        endpoint: Where it is asked.
        read_request: A request's body as its server reads it.
        refuses: What it refuses of a whole request besides what it refuses of schemas, names and histories.
        fields: The fields that a request can have; empty where nobody has said.
        respond: What a model says as the body of a response.
        unfold: A response's body as the events of its stream, of which ``fold`` makes the same response.
        error: A refusal as the headers and the body of its error.
        wordings: How it words a rule, as recorded; under the name and ``:missing`` where what the rule is about was
            left out.
    """

    endpoint: Endpoint
    read_request: Callable[[JsonObject], RequestRead]
    refuses: tuple[RequestRule, ...] = ()
    fields: frozenset[str] = frozenset()
    respond: Callable[[Completion], JsonObject]
    unfold: Callable[[JsonObject], Iterable[JsonObject]]
    error: Callable[[Refusal], ErrorReply]
    wordings: Mapping[str, Wording] = field(default_factory=dict)
