"""``Provider``: one provider's API as data: names, rewrites, limits, and functions that read and write its JSON."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from toolshape._calls import ChoiceMode, Finish, JsonObject, Namespace, Spec, WireCall, WireMessage
from toolshape._errors import ExportError, Problem, ResponseError
from toolshape._parts import File, Image, by_media_type, is_taken, kind_of
from toolshape._results import Result
from toolshape._schema.checks import Cited
from toolshape._schema.lens import Pass

if TYPE_CHECKING:  # a family brings both; they would be a fiftieth of the import of everything
    from toolshape._wire.histories import Histories
    from toolshape._wire.server import Server


class Reading(NamedTuple):
    """What a response says: the assistant's messages as they came, its calls, and why it ended, in its own words.

    ``cut`` are the positions of calls that were cut off, where the response or its stream says so; ``ends_in_call``
    is whether nothing comes after the last call, which a response that ended for its length may have cut off.
    """

    assistant: list[WireMessage]
    calls: Sequence[WireCall | tuple[str, str, Any, Any]]
    finish: str | None
    cut: frozenset[int] = frozenset()
    ends_in_call: bool = True


Read: TypeAlias = tuple[
    list[WireMessage], Sequence[WireCall | tuple[str, str, Any, Any]], str | None, frozenset[int], bool
]
"""A ``Reading`` and its ``WireCall``s, or plain tuples of the same fields, which take a third of the time."""


Completed: TypeAlias = tuple[int, WireCall]
"""A call of a stream that nothing more comes of: its position among the calls of the response, and the call."""


class Choice(NamedTuple):
    """Which tools a model may or must call, for one request.

    ``mode``: ``"auto"``, ``"none"`` or ``"required"``, or ``None`` where nothing is said. ``names`` are wire names: the
    one tool to call, or those of which one is to be called, and ``chosen`` is what the SDK takes as tools for these
    alone. ``is_strict``: some tool is shown in strict form, for providers that switch it on by request. ``provider``
    and ``model`` are whom the request goes to.
    """

    provider: str
    model: str | None = None
    mode: ChoiceMode | None = None
    names: tuple[str, ...] = ()
    chosen: tuple[JsonObject, ...] = ()
    parallel: bool | None = None
    is_strict: bool = False


class NameRule(NamedTuple):
    """What a provider takes as a tool's name, and the evidence for it.

    ``pattern`` must match the whole name; ``longest`` is the most characters that are sent, ``longest_accepted`` the
    most that the server was seen to take, where that is more; a ``reserved`` name is not taken.
    """

    pattern: str
    longest: int
    evidence: str
    reserved: frozenset[str] = frozenset()
    longest_accepted: int | None = None

    def admits(self, name: str) -> bool:
        """Whether the provider takes this name."""
        return len(name) <= self.longest and name not in self.reserved and bool(re.fullmatch(self.pattern, name))

    def wire_name(self, name: str) -> str | None:
        """The name under which a tool is sent: its own, or one derived from its own alone, so that no other affects it.

        ``None`` where the provider accepts neither.
        """
        if self.admits(name):
            return name
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
        letters = digest.translate(_LETTERS)
        stem = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: self.longest - 11]
        stem = stem if stem[:1].isalpha() else f"t_{stem}"
        plain = re.sub(r"[^a-z]", "", name.lower())[: max(self.longest - len(letters), 0)] + letters
        derived = (f"{stem}_{digest}", f"{stem}_{letters}", plain, plain.upper(), digest.translate(_DIGITS))
        return next(filter(self.admits, derived), None)


_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_DIGITS = str.maketrans("abcdef", "012345")


class Limit(NamedTuple):
    """The most that a provider takes of something, and the evidence for it, with its date."""

    most: int
    evidence: str


class Budget(NamedTuple):
    """What a provider compiles of strict tools in one request, all of them together; ``None`` where there is no limit.

    ``is_shared``: strictness is the request's, so that either all of its tools are strict or none is.
    """

    evidence: str
    tools: int | None = None
    properties: int | None = None
    optional: int | None = None
    unions: int | None = None
    is_shared: bool = False


class Deferral(NamedTuple):
    """How a provider loads tools only when a model's search finds them, and the evidence for it.

    ``mark``: the entry of a deferred tool; ``is_marked``: whether an entry is of one. ``search`` is the provider's own
    tool that has to stand beside them, ``is_search`` tells that, in whatever version. ``refused``: why a tool of the
    provider's own cannot stand beside tools of these wire names; empty where it can.
    """

    mark: Callable[[JsonObject, bool | Namespace], JsonObject]
    is_marked: Callable[[JsonObject], bool]
    search: JsonObject
    is_search: Callable[[Any], bool]
    evidence: str
    refused: Callable[[Any, Collection[str]], str] | None = None


class Facts(NamedTuple):
    """What people want to know of a provider and no code needs: a phrase each, for its row in the documentation.

    ``arguments``: how they arrive; ``malformed``: what arrives where the model wrote no JSON; ``declined``: how it
    says that it calls nothing; ``strict``: the switch; ``needs``: what else the request or the server needs.
    """

    arguments: str
    malformed: str
    declined: str
    strict: str
    needs: str = ""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchemaRules:
    """Which schemas of parameters a provider takes, and how others are rewritten for it.

    Args:
        refuses: What it refuses of any schema.
        refuses_strict: What it refuses of a strict one besides.
        lenient: How the schema is rewritten by default, in this order.
        strict: How it is rewritten for constrained decoding; ``None`` where there is no such thing.
        is_strict_by_auto: Whether ``"auto"`` may be strict: the provider documents what it takes in strict form, and
            it is enough to say so in the request.
        strict_needs: What strict tools need besides, which the library cannot do; said in the report.
        budget: What it compiles of strict tools in one request.
    """

    refuses: tuple[Cited, ...] = ()
    refuses_strict: tuple[Cited, ...] = ()
    lenient: tuple[Pass, ...]
    strict: tuple[Pass, ...] | None
    is_strict_by_auto: bool = True
    strict_needs: str = ""
    budget: Budget | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RequestForm:
    """How tools and a choice among them are written into a request.

    Args:
        envelope: One tool, its schema rewritten, as an entry of what the SDK takes as tools.
        gather: The entries of all tools as what the SDK takes as its tools.
        keywords: The keywords of a request with these tools; raises ``ExportError`` for a choice it cannot say.
        deferral: How tools are sent that are loaded when a model searches for them; ``None``: they are sent whole.
        most_tools: How many tools a request may hold.
        longest_description: How many characters a tool's description may have.
        examples: Where right arguments are shown: a key of the entry, ``"schema"`` for the keyword of JSON Schema.
        lacks: Keys of an entry that others of the family have and this one does not know.
        advertises_output: Whether its clients hold results against the schema in an entry, so that we do before.
    """

    envelope: Callable[[Spec, bool], JsonObject]
    gather: Callable[[list[JsonObject]], list[JsonObject]] = list
    keywords: Callable[[list[JsonObject], Choice], JsonObject]
    deferral: Deferral | None = None
    most_tools: Limit | None = None
    longest_description: Limit | None = None
    examples: str | None = None
    lacks: frozenset[str] = frozenset()
    advertises_output: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResponseForm:
    """How a response or its stream is read.

    Args:
        recognises: Whether a body (dict, list or SDK object) is of the family: a response, a message, or one call.
        read: The calls in such a body; ``None`` for any other.
        fold: Merges one stream event into the response so far (empty at first, changed in place); returns the calls
            that it completes, each call once: no later event may add to them.
        finishes: What its words for why a response ended mean.
    """

    recognises: Callable[[Any], bool]
    read: Callable[[Any], Read | None]
    fold: Callable[[JsonObject, JsonObject], Iterable[Completed]]
    finishes: Mapping[str, Finish]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Codec:
    """How calls and their results are written as messages.

    Args:
        write_calls: Calls as the messages of an assistant that made them.
        write_results: Results as the messages that answer them.
        carries: Which of ``"image"``, ``"audio"``, ``"video"`` and ``"file"`` results can hold.
    """

    write_calls: Callable[[Sequence[WireCall]], list[WireMessage]]
    write_results: Callable[[Sequence[Result]], list[WireMessage]]
    carries: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Provider:
    """One provider's API, as data and pure functions over JSON.

    Args:
        name: What users write.
        family: The wire family, by the name of its default provider; responses of one family look alike, whoever
            sent them.
        form: The provider whose entries have the form of this one's: where they are alike, a definition written for
            one can be sent to the other as it is.
        names: The rule for tool names.
        schema: Which schemas it takes, and how others are rewritten.
        request: How tools are written into a request.
        response: How a response is read.
        codec: How calls and results are written.
        histories: How its messages are read and written; ``None`` where a conversation cannot go on with it.
        server: How its server reads and answers; ``None`` where there is no HTTP, or nobody has said.
        facts: For the documentation.
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
    facts: Facts

    def takes(self, part: Image | File) -> bool:
        """Whether its messages can hold an image or a file that a tool gave."""
        types = None if self.histories is None else self.histories.media_types
        part = by_media_type(part)
        return kind_of(part) in self.codec.carries and (types is None or is_taken(part, types))


ProviderName: TypeAlias = Literal[
    "anthropic", "anthropic:described", "azure", "bedrock", "cerebras", "cohere",
    "deepseek", "fireworks", "gemini", "gemini-interactions", "gemini-openapi", "gemini-openapi:upper-case",
    "gemini:string-enums", "groq", "huggingface", "json-schema", "llama-cpp", "mcp",
    "mcp:2025-06-18", "mcp:2025-11-25", "mcp:2026-07-28", "mcp:refs", "mistral", "moonshot",
    "ollama", "ollama:server", "openai", "openai-responses", "openai-responses:minimal", "openai:minimal",
    "openai:string-enums", "openrouter", "together", "vertex", "vllm", "xai",
    "xai:grpc",
]  # fmt: skip
"""The providers of this package, so that an editor completes them."""

AnyProvider: TypeAlias = ProviderName | str | Provider
"""A provider, or the name of one: of this package's, or of one that an installed package brings."""


def unsupported(choice: Choice, path: Literal["choice", "parallel"], message: str, evidence: str = "") -> ExportError:
    """The error for what a provider does not support in a request."""
    problem = Problem(path=path, rule="choice", message=message, evidence=evidence)
    return ExportError(provider=choice.provider, tool=None, problems=[problem])


def never_streamed(body: JsonObject, event: JsonObject) -> Iterable[Completed]:  # noqa: ARG001 - a fold
    """The fold of a provider that sends calls whole.

    Raises:
        ResponseError: Always.
    """
    raise ResponseError("this provider does not stream calls: dispatch each as it comes", body=event)
