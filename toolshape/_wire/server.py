"""Records for the server side of a provider: a request, a model's completion, and a refusal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._calls import ChoiceMode, Finish, JsonObject, WireCall

Framing: TypeAlias = Literal["sse", "named-sse", "ndjson", "event-stream", "json-array"]


class SentTool(NamedTuple):
    """One tool of a request, as the provider sees it.

    ``path`` and ``schema_path`` are paths in the request. ``number`` is the position among all tools of the request.
    ``schema`` is ``None`` if none was sent. If an API has several places for a schema, ``dialect`` is the name of the
    provider whose rules hold for this one.
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
    """A parsed request: its tools, the number of the provider's own tools, the tool choice, and the rest.

    ``mode`` is ``"auto"``, ``"none"`` or ``"required"``, or ``None`` if the request states no choice. If there are
    ``names``, the model must call one of these tools. ``wants_usage``: a stream ends with the token counts.
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
    """What a model says in one response. The ids in the response derive from ``id``.

    ``usage`` are the tokens of the request and of the response, or ``None`` if they are not reported.
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
    """The address of a provider's API, the framing of its streams, and how its SDK finds the address.

    ``path`` is a regular expression of the whole path, which may hold the groups ``model`` and ``verb``. If there is a
    verb, ``streaming_verb`` asks for a stream; otherwise the field ``stream`` does, and ``streams`` is its default.
    ``is_done``: a stream ends with ``[DONE]``. ``event_key`` is the key of an event that holds its name, for framings
    that name events. Without the query ``sse_query``, a stream is a JSON array. ``variables`` are the environment
    variables that the SDK reads, with ``{url}`` for the address. ``http`` is the library whose clients the SDK accepts.
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
    """What is wrong with a request: a path, a rule, the message of our check, and dated evidence for the rule.

    ``is_of_output``: it is about the schema of an answer. ``tool`` and ``number`` are the name and position of the tool, and ``place`` is a path in its schema. ``subject`` is
    the subject of the rule, such as a keyword or an id. ``given`` is what or how much was sent, ``most`` the limit.
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
    is_of_output: bool = False


class Refusal(NamedTuple):
    """A provider's error in place of a response; ``code`` is its word for the error, ``param`` the path in question."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


ErrorReply: TypeAlias = tuple[Mapping[str, str], JsonObject]
"""The headers and the body of an error."""


class Wording(NamedTuple):
    """How a provider words a rule, as recorded.

    ``message`` and ``param`` are templates over the fields of a ``RequestFault``. Further fields: ``{context}`` is its
    ``place`` as a tuple of keys, ``{properties}`` the same as a path, and ``{message_path}`` the path of the message.
    """

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None


RequestCheck: TypeAlias = Callable[[RequestRead], Iterable[RequestFault]]


class RequestRule(NamedTuple):
    """A check of a whole request, and dated evidence: where the provider's rule is documented or was observed."""

    check: RequestCheck
    evidence: str


def request_rules(evidence: str, *checks: RequestCheck) -> tuple[RequestRule, ...]:
    """Return checks that rest on one piece of evidence."""
    return tuple(RequestRule(check, evidence) for check in checks)


class RequestProbe(NamedTuple):
    """Changes of a request's body that a rule refuses, and those of its twin; ``None`` removes a field."""

    refused: JsonObject
    accepted: JsonObject


class Address(NamedTuple):
    """Where a provider's API is reached, for ``toolshape verify``.

    ``url`` may hold ``{model}``. ``headers`` may hold ``{key}``, which is read from the first of the environment variables
    ``keys`` that is set; without ``keys`` none is needed. ``smallest`` are the fields that keep an answer short.
    """

    url: str
    headers: Mapping[str, str]
    keys: tuple[str, ...]
    smallest: JsonObject
    evidence: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Server:
    """How a provider's server reads a request and answers it, as far as a fake needs.

    Args:
        endpoint: Where the server is reached.
        read_request: Parses a request's body as the server does.
        refuses: Rules for the request as a whole; schemas, names and histories have their own rules.
        fields: The fields that a request can have; empty if they are not known.
        respond: Writes a completion as the body of a response.
        unfold: Splits a response's body into the events of its stream; ``fold`` makes the same response from them.
        error: Writes a refusal as the headers and the body of its error.
        wordings: The recorded wordings, by rule. The key with ``:missing`` appended applies if the subject of the rule
            was left out, and with ``output:`` before it to the schema of an answer.
        probes: Requests that one rule refuses, each with a twin, where no rule makes one.
        models: Models that other rules hold for than for the rest, one for each such rule.
        body_of: Turns the keywords of the SDK's call into a request's body; ``None`` if they are the body.
        address: Where the API is; ``None`` if requests are signed, or each account has an address of its own.
    """

    endpoint: Endpoint
    read_request: Callable[[JsonObject], RequestRead]
    refuses: tuple[RequestRule, ...] = ()
    fields: frozenset[str] = frozenset()
    respond: Callable[[Completion], JsonObject]
    unfold: Callable[[JsonObject], Iterable[JsonObject]]
    error: Callable[[Refusal], ErrorReply]
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    probes: tuple[RequestProbe, ...] = ()
    models: tuple[str, ...] = ()
    body_of: Callable[[JsonObject], JsonObject] | None = None
    address: Address | None = None
