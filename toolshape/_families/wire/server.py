"""Records for the server side of a provider: a request, a model's completion, and a refusal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._records.calls import ChoiceMode, Finish, JsonObject, WireCall

Framing: TypeAlias = Literal["sse", "named-sse", "ndjson", "event-stream", "json-array"]


class SentTool(NamedTuple):
    """One tool of a request, as the provider sees it.

    ``path`` and ``schema_path`` are paths in the request. ``number`` is the position in the list
    that holds the tool. ``schema`` is ``None`` if no schema was sent. If an API has several fields
    for a schema, ``dialect`` is the name of the provider whose rules hold for this field.
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
    """A parsed request: its tools, the number of the provider's own tools, the
    tool choice, and other settings.

    ``mode`` is ``"auto"``, ``"none"`` or ``"required"``, or ``None`` if the request states no
    choice. If there are ``names``, the model must call one of these tools. ``wants_usage``: a
    stream must end with the token counts.
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
    """A model's output in one response. The ids in the response derive from ``id``.

    ``usage`` holds the token counts of the request and of the response, or is ``None`` if they are
    not reported.
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
    """The address of a provider's API, the framing of its streams, and
    how its SDK finds the address.

    ``path`` is a regular expression for the whole path, which may hold the groups ``model`` and
    ``verb``. If the path has a verb, the verb ``streaming_verb`` asks for a stream. Otherwise the
    field ``stream`` asks for a stream, and ``streams`` is the default of this field. ``versions``
    are the versions in the path, if there are more than the address has. ``is_done``: a stream ends
    with ``[DONE]``. For framings that name events, ``event_key`` is the key that holds an event's
    name. If the request lacks the query ``sse_query``, the stream is a JSON array. ``variables``
    are the environment variables that the SDK reads, with ``{url}`` for the address. ``http`` is
    the library whose clients the SDK accepts.
    """

    path: str
    framing: Framing
    is_done: bool = False
    event_key: str = "type"
    streams: bool = False
    streaming_verb: str = ""
    sse_query: str = ""
    versions: tuple[str, ...] = ()
    variables: Mapping[str, str] = MappingProxyType({})
    http: Literal["httpx", "httpx2"] = "httpx2"


class RequestFault(NamedTuple):
    """A fault in a request: a path, a rule, the message of toolshape's check,
    and dated evidence for the rule.

    ``is_of_output``: the fault is in the answer's schema. ``tool`` and ``number`` are the name and
    position of the tool, and ``place`` is a path in its schema. ``subject`` is the subject of the
    rule, such as a keyword or an id. ``given`` is the value or the amount that was sent, and
    ``most`` is the limit.
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
    """A provider's error response: ``code`` is the provider's error code,
    ``param`` is the fault's path.
    """

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None


ErrorReply: TypeAlias = tuple[Mapping[str, str], JsonObject]
"""The headers and the body of an error response."""


class Wording(NamedTuple):
    """The recorded wording of a provider's error for one rule.

    ``message`` and ``param`` are templates over the fields of a ``RequestFault``. The templates may
    use further fields: ``{context}`` is the fault's ``place`` as a tuple of keys, ``{properties}``
    is the same place as a path, and ``{message_path}`` is the path of the message.
    """

    message: str
    status: int = 400
    code: str | None = None
    param: str | None = None


RequestCheck: TypeAlias = Callable[[RequestRead], Iterable[RequestFault]]


class RequestRule(NamedTuple):
    """A check for a whole request, and dated evidence: where the provider's rule
    is documented or was observed.
    """

    check: RequestCheck
    evidence: str


def request_rules(evidence: str, *checks: RequestCheck) -> tuple[RequestRule, ...]:
    """Return a rule for each check, all with the same evidence."""
    return tuple(RequestRule(check, evidence) for check in checks)


class RequestProbe(NamedTuple):
    """Changes to a request's body that make a rule refuse it, and similar
    changes that the rule accepts.

    A value of ``None`` removes a field.
    """

    refused: JsonObject
    accepted: JsonObject


class Address(NamedTuple):
    """How ``toolshape verify`` reaches a provider's API.

    ``url`` may hold ``{model}``. ``headers`` may hold ``{key}``, the API key. toolshape reads the
    key from the first environment variable in ``keys`` that is set; without ``keys``, the API needs
    no key. ``smallest`` holds the fields that keep an answer short.
    """

    url: str
    headers: Mapping[str, str]
    keys: tuple[str, ...]
    smallest: JsonObject
    evidence: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Server:
    """How a provider's server reads a request and answers it, as far
    as a fake server needs to know.

    Args:
        endpoint: Where clients reach the server.
        read_request: Parses a request's body as the server does.
        refuses: Rules for the request as a whole; schemas, names and histories have separate rules.
        fields: The fields that a request can have; empty if they are not known.
        respond: Writes a completion as the body of a response.
        unfold: Splits a response's body into the events of its stream; ``fold`` makes the same
            response from them.
        error: Writes a refusal as the headers and the body of an error response.
        wordings: The recorded error messages, by rule. A key that ends in ``:missing`` applies if
            the request lacks the subject of the rule. A key that begins with ``output:`` applies to
            the answer's schema.
        probes: Requests that one rule refuses, each with an accepted twin, for rules that no
            generated request breaks.
        models: For each rule that holds for some models only, the name of one of these models.
        body_of: Converts the keywords of the SDK's call to a request's body; ``None`` if they are
            the body.
        address: The URL of the API; ``None`` if requests are signed, or if each account has a
            separate URL.
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
