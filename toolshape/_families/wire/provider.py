"""One provider's API as data, and as functions that read and write its JSON."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from toolshape._families.names import ProviderName, TextCallsName
from toolshape._families.wire.ending import Ending, no_ending
from toolshape._records.calls import (
    ChoiceMode,
    Finish,
    JsonObject,
    JsonSchema,
    Namespace,
    Spec,
    WireCall,
    WireMessage,
)
from toolshape._records.errors import ExportError, Problem, ResponseError
from toolshape._records.parts import File, Image, by_media_type, is_taken, media_kind_of
from toolshape._records.result import ResponseWarning, Result, Usage
from toolshape._records.shown import readable_name
from toolshape._schema.checks import Cited
from toolshape._schema.lens import Pass

# Only the families need both modules; importing them here would add 2 % to the time of all imports.
if TYPE_CHECKING:
    from toolshape._families.wire.batches import BatchForm
    from toolshape._families.wire.histories import Histories
    from toolshape._families.wire.server import Server
    from toolshape._families.wire.sessions import SessionForm


class Reading(NamedTuple):
    """The content of a response: the assistant's messages unchanged, its calls,
    and the provider's finish reason.

    ``cut`` holds the positions of the calls that were cut off, if the response or its stream
    reports them. ``ends_in_call``: nothing follows the last call. If the response hit its length
    limit, this call may be cut off.
    """

    assistant: list[WireMessage]
    calls: Sequence[WireCall | tuple[str, str, Any, Any]]
    finish: str | None
    cut: frozenset[int] = frozenset()
    ends_in_call: bool = True


NOTHING_CUT = frozenset[int]()
"""No call was cut off: what the plain case of each reader says."""
Read: TypeAlias = tuple[
    list[WireMessage],
    Sequence[WireCall | tuple[str, str, Any, Any]],
    str | None,
    frozenset[int],
    bool,
]
"""A ``Reading`` and its ``WireCall``s, or plain tuples of the same fields, which
take a third of the time to build.
"""


Completed: TypeAlias = tuple[int, WireCall]
"""A completed call from a stream: its position among the calls of the response, and the call."""


class Choice(NamedTuple):
    """Which tools a model may or must call, for one request.

    ``mode`` is ``"auto"``, ``"none"`` or ``"required"``, or ``None`` if the request states no
    choice. ``names`` are the wire names of the tools that the model must choose from: one tool, or
    several. ``chosen`` are the SDK's entries for these tools only. ``is_strict``: at least one tool
    is sent in strict form; some providers enable strict mode per request. ``provider`` and
    ``model`` receive the request.
    """

    provider: str
    model: str | None = None
    mode: ChoiceMode | None = None
    names: tuple[str, ...] = ()
    chosen: tuple[JsonObject, ...] = ()
    parallel: bool | None = None
    is_strict: bool = False


class NameRule(NamedTuple):
    """A provider's rule for tool names, and the evidence for it.

    ``pattern`` must match the whole name. ``longest`` is the greatest length that toolshape sends.
    ``longest_accepted`` is the greatest length that the server was observed to accept, if it is
    longer. The provider rejects ``reserved`` names.
    """

    pattern: str
    longest: int
    evidence: str
    reserved: frozenset[str] = frozenset()
    longest_accepted: int | None = None

    def admits(self, name: str) -> bool:
        """Return whether toolshape sends this name: the provider
        accepts it, and it is not too long.
        """
        return (
            len(name) <= self.longest
            and name not in self.reserved
            and bool(re.fullmatch(self.pattern, name))
        )

    def wire_name(self, name: str) -> str | None:
        """Return the tool's own name if the provider accepts it, otherwise a
        name derived from it, or ``None``.

        The derived name depends only on the tool's own name, so adding a tool renames no other. It
        is the readable form of the name (``weather.now`` is ``weather_now``), and one with a digest
        only where that is too long, or no name.
        """
        if self.admits(name):
            return name
        readable = readable_name(name)
        if self.admits(readable):
            return readable
        return self.name_with_digest(name)

    def name_with_digest(self, name: str) -> str | None:
        """Return a name that holds a digest of the tool's own name, or ``None`` if the
        provider accepts no such name.

        Before 0.1.0 every derived name was this one, so it is still understood in stored messages
        and tokens.
        """
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
        letters = digest.translate(_LETTERS)
        stem = readable_name(name)[: self.longest - 11]
        stem = stem if stem[:1].isalpha() else f"t_{stem}"
        letters_only = (
            re.sub(r"[^a-z]", "", name.lower())[: max(self.longest - len(letters), 0)] + letters
        )
        # The candidates go from readable to restricted: a rule may forbid digits, underscores, a
        # case or all letters.
        candidates = (
            f"{stem}_{digest}",
            f"{stem}_{letters}",
            letters_only,
            letters_only.upper(),
            digest.translate(_DIGITS),
        )
        return next(filter(self.admits, candidates), None)


_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_DIGITS = str.maketrans("abcdef", "012345")


class Limit(NamedTuple):
    """A maximum that a provider enforces, such as a count or a length, with dated evidence."""

    most: int
    evidence: str


class Budget(NamedTuple):
    """A provider's limits on all strict tools of one request together; ``None`` means no limit.

    ``is_shared``: strict mode is a flag of the request, so either all of its tools are strict or
    none are.
    """

    evidence: str
    tools: int | None = None
    properties: int | None = None
    optional: int | None = None
    unions: int | None = None
    is_shared: bool = False


class Deferral(NamedTuple):
    """How a request defers tools, which the provider loads only when the
    model's tool search finds them.

    ``mark`` marks the entry of a deferred tool; ``is_marked`` returns whether an entry is marked.
    ``search`` is the provider's own tool that the request needs beside deferred tools;
    ``is_search`` recognises any version of it. ``refused`` takes one of the provider's own tools
    and the wire names of the user's tools. It returns why one request cannot hold both, or an empty
    string. ``own_search`` writes the entry of a search of the user's own, which loads the deferred
    tools in place of the provider's. ``load`` writes the searches in a history so that what they
    found is loaded again; it takes the entries of the tools that are sent, by the tools' own names
    and by their wire names, and the names of the search. ``read_search`` changes the form of
    responses so that a search of the user's own, by its wire name, is read as a call.
    """

    mark: Callable[[JsonObject, bool | Namespace], JsonObject]
    is_marked: Callable[[JsonObject], bool]
    search: JsonObject
    is_search: Callable[[Any], bool]
    evidence: str
    refused: Callable[[Any, Collection[str]], str] | None = None
    own_search: Callable[[JsonObject], JsonObject] = dict
    load: "Callable[[Sequence[WireMessage], Mapping[str, JsonObject], Collection[str]], list[WireMessage]] | None" = None
    read_search: "Callable[[ResponseForm, str], ResponseForm] | None" = None

    @property
    def has_search_items(self) -> bool:
        """Whether a search of the user's own is an item of its own in messages, and no call."""
        return self.read_search is not None


class Facts(NamedTuple):
    """Phrases for the provider table in the docs; not used by code.

    ``arguments``: the JSON type in which the arguments arrive. ``malformed``: what arrives if the
    model wrote invalid JSON. ``declined``: how the response shows that the model calls no tool.
    ``strict``: how a request turns on strict mode. ``needs``: what else the request or the server
    needs.
    """

    arguments: str
    malformed: str
    declined: str
    strict: str
    needs: str = ""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaRules:
    """Which parameter schemas a provider accepts, and how toolshape rewrites other schemas for it.

    Args:
        refuses: Checks for faults that make the provider reject a schema, strict or lenient.
        refuses_strict: Checks for faults that the provider rejects in strict schemas only.
        lenient: The default rewrites, in this order.
        strict: The rewrites for constrained decoding; ``None`` if the provider has no strict form.
        is_strict_by_auto: Whether ``"auto"`` may choose strict: the provider documents the strict
            schemas that it accepts, and strict mode needs only a flag in the request.
        strict_needs: What the user must add for strict tools, because toolshape cannot add it. The
            report states this need.
        budget: The limits on the strict tools of one request.
        engine: The engine that constrains decoding here, its version and when it was measured what
            it keeps; the rewrites then send only what it keeps. Empty if nobody measured it.
    """

    refuses: tuple[Cited, ...] = ()
    refuses_strict: tuple[Cited, ...] = ()
    lenient: tuple[Pass, ...]
    strict: tuple[Pass, ...] | None
    is_strict_by_auto: bool = True
    strict_needs: str = ""
    budget: Budget | None = None
    engine: str = ""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RequestForm:
    """How to write tools and a tool choice into a request.

    Args:
        envelope: Writes one tool, with its schema rewritten, as an entry of the SDK's list of
            tools.
        free_text: Writes a tool that takes plain text as an entry; ``None`` if all tools take JSON.
        gather: Combines the entries of all tools into the SDK's list of tools.
        keywords: Returns the keywords of a request with these tools; raises ``ExportError`` for a
            choice that the provider does not support.
        deferral: How to defer tools. If the provider has no tool search, this is ``None``, and
            deferred tools are sent like all other tools.
        most_tools: How many tools a request may hold.
        longest_description: How many characters a tool's description may have.
        examples: The key of the entry that holds examples of arguments. ``"schema"`` means that the
            keyword ``examples`` of the JSON Schema holds them.
        lacks: Keys of an entry that other providers of the family accept, but this provider does
            not.
        advertises_output: Whether entries contain the output schema. Clients then validate results
            against it, so toolshape validates them before it sends them.
    """

    envelope: Callable[[Spec, bool], JsonObject]
    free_text: Callable[[Spec], JsonObject] | None = None
    gather: Callable[[list[JsonObject]], list[JsonObject]] = list
    keywords: Callable[[list[JsonObject], Choice], JsonObject]
    deferral: Deferral | None = None
    most_tools: Limit | None = None
    longest_description: Limit | None = None
    examples: str | None = None
    lacks: frozenset[str] = frozenset()
    advertises_output: bool = False


class TextDelta(NamedTuple):
    """The assistant's text and visible reasoning (``thinking``) that one event of a stream adds."""

    text: str = ""
    thinking: str = ""


NO_TEXT = TextDelta()


def no_usage(_: Any) -> Usage | None:
    """Return no usage, for providers whose responses have none."""
    return None


def no_text(event: JsonObject) -> TextDelta:  # noqa: ARG001 - a text_delta
    """Return an empty delta: the default of ``text_delta``."""
    return NO_TEXT


class TextPlace(NamedTuple):
    """Where a family's responses hold a model's text, so that calls that a
    server left there can be read.

    ``text`` returns the text of the assistant's messages. ``entries`` returns the entries of calls
    in the messages that the codec writes for them. ``with_calls`` returns the assistant's messages
    with another text and with these entries before the server's; it also takes the reasoning that
    was in the text. ``is_last`` tells whether an event ends the text.
    """

    text: Callable[[Sequence[WireMessage]], str]
    entries: Callable[[Sequence[WireMessage]], Sequence[JsonObject]]
    with_calls: Callable[[Sequence[WireMessage], str, str, Sequence[JsonObject]], list[WireMessage]]
    is_last: Callable[[JsonObject], bool]


class Numbering(NamedTuple):
    """How a protocol numbers its events: the key of the number, and the
    ``type`` of a response's first event.
    """

    key: str
    first: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponseForm:
    """How to read a response or its stream.

    Args:
        recognises: Returns whether a body (dict, list or SDK object) is a response, message or call
            of this family.
        read: Reads the calls in such a body; returns ``None`` for any other body.
        fold: Merges one stream event into the response so far (empty at first, changed in place).
            Returns the calls that the event completes: no later event may add to these calls. The
            last event may return them again.
        finishes: Maps the provider's finish reasons to toolshape's finish reasons.
        unfinished: What stands for the finish reason of a stream before its end, such as a status.
        text_delta: Returns the text and the reasoning that one stream event adds. For an event that
            repeats earlier text, returns ``NO_TEXT``. If the delta depends on earlier events,
            ``fold`` stores a ``TextDelta`` in the response as ``x-delta``, and this delta counts
            instead.
        takes_text: Whether a response may be the model's plain text, and a stream may consist of
            pieces of that text.
        for_schemas: Returns the form that reads calls of tools with these parameter schemas, by
            wire name. Only formats that write arguments without types need this function.
        left_calls: Takes an assistant's message and the provider's name, and returns warnings about
            calls that the server left in the text; ``None`` if servers leave no calls there.
        template_marks: The marks with which the model's chat template begins and ends messages,
            where it is known from the format of its calls.
        text_place: Where the text of a response stands, if servers of open models have this form.
        usage: Reads the token counts of a body, also of a body that ``fold`` made of a stream.
        numbering: How the protocol numbers the events of a stream; ``None`` if it does not.
        ending: Finds in a body, as JSON, what its calls and its text do not say: an error, what
            waits, what is unread. Where items wait, it also takes a list of the assistant's
            messages. It may raise for any other value.
    """

    recognises: Callable[[Any], bool]
    read: Callable[[Any], Read | None]
    fold: Callable[[JsonObject, JsonObject], Iterable[Completed]]
    finishes: Mapping[str, Finish]
    unfinished: frozenset[str] = frozenset()
    text_delta: Callable[[JsonObject], TextDelta] = no_text
    takes_text: bool = False
    for_schemas: "Callable[[Mapping[str, JsonObject]], ResponseForm] | None" = None
    left_calls: Callable[[WireMessage, str], tuple[ResponseWarning, ...]] | None = None
    template_marks: tuple[str, ...] = ()
    text_place: TextPlace | None = None
    usage: Callable[[Any], Usage | None] = no_usage
    ending: Callable[[Any], Ending] = no_ending
    numbering: Numbering | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Codec:
    """How to write calls and their results as messages.

    Args:
        write_calls: Writes calls as the messages of the assistant that made them.
        write_results: Writes results as the messages that answer the calls.
        carries: Which of ``"image"``, ``"audio"``, ``"video"`` and ``"file"`` results can hold.
    """

    write_calls: Callable[[Sequence[WireCall]], list[WireMessage]]
    write_results: Callable[[Sequence[Result]], list[WireMessage]]
    carries: frozenset[str] = frozenset()


class OutputSchema(NamedTuple):
    """The answer's schema as it is sent, with the name and the description that
    some providers accept beside it.
    """

    name: str
    description: str
    schema: JsonSchema
    is_strict: bool


class AnswerText(NamedTuple):
    """The text of the assistant's messages: the ``text`` of an
    answer, or the text of a ``refusal``.
    """

    text: str
    refusal: str = ""


class SentOutput(NamedTuple):
    """The answer's schema in a request, as the provider reads it.

    ``path`` is the path of the schema in the request. ``name`` is the name that was sent with the
    schema, if any. If an API has several fields for a schema, ``dialect`` is the name of the
    provider whose rules hold for this field.
    """

    path: str
    schema: Any
    name: Any = None
    is_strict: bool = True
    dialect: str = ""


class NotBesideTools(NamedTuple):
    """Why toolshape does not ask for a structured answer if the request also
    has tools, with dated evidence.

    ``refused_by`` is a pattern for the models that refuse such a request. ``None``: all models
    accept the request, but then call no tool.
    """

    evidence: str
    refused_by: str | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OutputForm:
    """How a request asks for an answer that fits a schema, and how toolshape
    finds the answer in a response.

    Args:
        keywords: Writes the schema as keyword arguments of a request.
        answer: Returns the text of the answer in the assistant's messages.
        schema: Which schemas the provider accepts here; ``None``: the same schemas as for tools.
        names: The rule for the name that is sent with a schema; ``None`` if no name is sent.
        takes_any_root: Whether the root of the schema may be of any type; the parameters of a tool
            must be an object.
        has_description: Whether the request has a field for the description beside the schema.
        is_always_strict: Whether the provider constrains every answer. If it does, ``strict=False``
            is an error.
        not_beside_tools: Why toolshape does not send the schema if the request also has tools;
            ``None`` if the provider accepts both.
        sent: Reads the schema from a request's body, as the server does; ``None`` if no fake server
            reads it.
        evidence: The source of this form, with its date.
    """

    keywords: Callable[[OutputSchema], JsonObject]
    answer: Callable[[Sequence[WireMessage]], AnswerText]
    schema: SchemaRules | None = None
    names: NameRule | None = None
    takes_any_root: bool = False
    has_description: bool = False
    is_always_strict: bool = False
    not_beside_tools: NotBesideTools | None = None
    sent: Callable[[JsonObject], SentOutput | None] | None = None
    evidence: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Provider:
    """One provider's API, as data and pure functions over JSON.

    Args:
        name: The name that users write.
        family: The wire family, by the name of its default provider. All providers of one family
            send responses of the same form.
        form: The name of the form of tool entries: the name of one provider that uses it. Two
            providers with the same form accept the same definitions.
        names: The rule for tool names.
        schema: Which schemas the provider accepts, and how to rewrite other schemas.
        request: How to write tools into a request.
        response: How to read a response.
        codec: How to write calls and results.
        histories: How to read and write messages; ``None`` if toolshape cannot continue its
            conversations.
        server: How the server reads and answers a request; ``None`` if the provider has no HTTP
            API, or if toolshape does not describe this API.
        output: How to ask for an answer that fits a schema. ``None`` means that toolshape asks with
            a tool that the model must call.
        batch: How batches hold requests and results; ``None`` if there are none, or none that
            toolshape describes.
        session: How the events of a session are read; ``None`` if the provider answers one request
            at a time.
        facts: Phrases for the provider table in the documentation.
    """

    name: str
    family: str
    form: str
    names: NameRule
    schema: SchemaRules
    request: RequestForm
    response: ResponseForm
    codec: Codec
    histories: "Histories | None" = None
    server: "Server | None" = None
    output: OutputForm | None = None
    batch: "BatchForm | None" = None
    session: "SessionForm | None" = None
    facts: Facts

    def takes(self, part: Image | File) -> bool:
        """Return whether the provider's messages can hold an image or a file that a tool
        returned.
        """
        if self.histories is None:
            types = None
        else:
            types = self.histories.media_types
        part = by_media_type(part)
        return media_kind_of(part) in self.codec.carries and (
            types is None or is_taken(part, types)
        )

    def holds_in_result(self, part: Image | File) -> bool:
        """Return whether a result itself can hold an image or a file, for every model.

        If it cannot, the image or the file follows the result in a separate message.
        """
        rules = () if self.histories is None else self.histories.rules
        return self.takes(part) and not any(
            rule.name == "media_in_result" and not rule.models for rule in rules
        )


ProviderOrName: TypeAlias = str | Provider
"""A provider, or the name of any provider, including a provider that
an installed package registers.
"""

AnyProvider: TypeAlias = ProviderName | TextCallsName | Provider
"""A provider, or the name of a provider of this package.

Type checkers reject other names. For a computed name, or for a name that an installed package
registers, call ``toolshape.provider.get(name)``. At run time, every function accepts all names.
"""


def unsupported(
    choice: Choice, path: Literal["choice", "parallel"], message: str, evidence: str = ""
) -> ExportError:
    """Return the error for a request option that the provider does not support."""
    problem = Problem(path=path, rule="choice", message=message, evidence=evidence)
    return ExportError(provider=choice.provider, tool=None, problems=[problem])


def never_streamed(body: JsonObject, event: JsonObject) -> Iterable[Completed]:  # noqa: ARG001 - a fold's signature
    """Reject every stream event: the ``fold`` of a provider that does not stream calls.

    Raises:
        ResponseError: Always.
    """
    raise ResponseError(
        "this provider does not stream calls: dispatch each call as it arrives", body=event
    )
