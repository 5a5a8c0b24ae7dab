"""Counts the types of answers that toolshape, other libraries and the SDKs' own helpers support, in one offline run.

``nox -s 'measure(outputs)'`` runs this benchmark, and writes benchmarks/results/outputs.md. Each library sends its requests
through its real client. A fake plays the provider: it rejects the schemas that the provider's cited rules reject, and
answers with the value in the schema that was sent.
"""

import argparse
import dataclasses
import datetime
import decimal
import enum
import json
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from commits import commit_of
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

import toolshape
from toolshape import Output
from toolshape._families import get
from toolshape.testing import Fake, Turn
from toolshape.testing._laws import in_2020_12

RESULTS = Path(__file__).parent / "results" / "outputs.md"


class Line(BaseModel):
    sku: str
    qty: int = 1


class Invoice(BaseModel):
    total: float
    lines: list[Line]


class Tagged(BaseModel):
    tags: dict[str, int]


class Nested(BaseModel):
    stock: dict[str, list[Line]]


class Place(BaseModel):
    at: tuple[float, float]


class Part(BaseModel):
    name: str
    parts: list["Part"] = []


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Either(BaseModel):
    found: Line | str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Painted(BaseModel):
    colour: Colour
    level: Level


class Bounded(BaseModel):
    code: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    share: Annotated[float, Field(ge=0, le=1)]
    items: Annotated[list[int], Field(min_length=1, max_length=3)]


class Timed(BaseModel):
    day: datetime.date
    at: datetime.datetime
    price: decimal.Decimal


class Optional(BaseModel):
    name: str
    note: str | None = None
    count: int = 3


class Unique(BaseModel):
    words: set[str]


class Anything(BaseModel):
    data: dict[str, Any]


@dataclasses.dataclass
class Point:
    lat: float
    lon: float = 0.0


class Movie(TypedDict):
    title: str
    year: int


TYPES: list[tuple[str, Any, Any]] = [
    ("a model of models", Invoice, Invoice(total=3.5, lines=[Line(sku="a", qty=2)])),
    ("defaults and null", Optional, Optional(name="a", note=None, count=7)),
    ("enums of texts and numbers", Painted, Painted(colour=Colour.BLUE, level=Level.HIGH)),
    ("bounds and a pattern", Bounded, Bounded(code="ABC", share=0.5, items=[1])),
    ("dates and a Decimal", Timed, Timed(day=datetime.date(2026, 1, 2), at=datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc), price=decimal.Decimal("1.50"))),
    ("a set", Unique, Unique(words={"a", "b"})),
    ("a map", Tagged, Tagged(tags={"a": 1, "b": 2})),
    ("a map of lists of models", Nested, Nested(stock={"x": [Line(sku="a")]})),
    ("a tuple", Place, Place(at=(1.5, 2.5))),
    ("a model that holds itself", Part, Part(name="a", parts=[Part(name="b")])),
    ("a union by a field", Owner, Owner(pet=Cat(lives=9))),
    ("a union of a model and a text", Either, Either(found=Line(sku="a", qty=2))),
    ("any JSON object", Anything, Anything(data={"a": [1, {"b": None}]})),
    ("a dataclass", Point, Point(1.5, 2.5)),
    ("a TypedDict", Movie, {"title": "M", "year": 1931}),
    ("list[Line]", list[Line], [Line(sku="a"), Line(sku="b", qty=3)]),
    ("dict[str, int]", dict[str, int], {"a": 1}),
    ("Line | Point", Line | Point, Point(1.0, 2.0)),
    ("Literal", Literal["yes", "no"], "no"),
    ("int", int, 7),
    ("tuple[int, str]", tuple[int, str], (1, "a")),
    ("int | None", int | None, None),
]  # fmt: skip


class NotSayableError(Exception):
    """The schema that was sent cannot express the value."""


class Outcome(NamedTuple):
    """The outcome of a type: was the schema accepted, does it constrain, did the value come back equal, and what failed?"""

    is_accepted: bool
    is_strict: bool
    is_equal: bool
    failure: str = ""


Ask = Callable[[Any, str], Any]
"""Asks a fake at a URL for an answer of a type, with one library, and returns the value that the library read."""


def _sent_schema(provider: str, body: dict[str, Any]) -> tuple[Any, str | None]:
    """Return the schema of the answer in a request, and the name of the tool with this schema, if any."""
    form, server = get(provider).output, get(provider).server
    sent = None if form is None or form.sent is None else form.sent(body)
    if sent is not None:
        return sent.schema, None
    tools = () if server is None else server.read_request(body).tools
    return (tools[-1].schema, str(tools[-1].name)) if tools else (None, None)


def _is_strict(provider: str, body: dict[str, Any]) -> bool:
    """Return whether the provider constrains the answer to the schema of a request."""
    form, server = get(provider).output, get(provider).server
    sent = None if form is None or form.sent is None else form.sent(body)
    if form is not None and sent is not None:
        return form.is_always_strict or sent.is_strict
    return server is not None and any(tool.is_strict for tool in server.read_request(body).tools)


def _candidates(canonical: Any, schema: Any) -> Iterator[Any]:
    """Yield the canonical value unchanged, then in the only field of an object, then as pydantic-ai writes a union."""
    yield canonical
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if len(properties) != 1:
        return
    [(name, inner)] = properties.items()
    yield {name: canonical}
    for branch in inner.get("anyOf", ()):
        parts = branch.get("properties", {})
        kind, data = parts.get("kind", {}), parts.get("data", {}).get("properties", {})
        tag = kind.get("const", next(iter(kind.get("enum", [None]))))
        values = [canonical, *({key: canonical} for key in list(data)[:1])]
        yield from ({name: {"kind": tag, "data": value}} for value in values)


def _write(provider: str, kind: Any, value: Any, schema: Any) -> Any:
    """Return the first form of the value that is valid for the schema that was sent.

    Raises:
        NotSayableError: No form of the value is valid.
    """
    canonical = TypeAdapter(kind).dump_python(value, mode="json", by_alias=True)
    plain = in_2020_12(schema) if isinstance(schema, dict) else {}
    for candidate in _candidates(canonical, schema):
        if Draft202012Validator(plain).is_valid(candidate):
            return candidate
    raise NotSayableError(f"{provider}: {json.dumps(canonical)} in {json.dumps(schema)}")


def outcome_of(ask: Ask, provider: str, kind: Any, value: Any, *, is_ours: bool) -> Outcome:
    unsayable: list[Exception] = []
    strict: list[bool] = []

    def answer(asked: Any) -> Turn | str:
        strict.append(_is_strict(provider, asked.request))
        if is_ours:
            return Turn().says(value, output=kind)
        schema, tool = _sent_schema(provider, asked.request)
        try:
            written_value = _write(provider, kind, value, schema)
        except NotSayableError as error:
            unsayable.append(error)
            return "{}"
        return json.dumps(written_value) if tool is None else Turn().invents(tool, written_value)

    with Fake(provider) as fake:
        fake.answers(answer)
        try:
            returned_value = ask(kind, fake.url)
        except Exception as error:
            is_accepted = bool(fake.exchanges) and not fake.refused
            if not fake.exchanges:
                return Outcome(False, False, False, f"raises first: {type(error).__name__}")
            if fake.refused:
                return Outcome(False, False, False, f"refused: {fake.refused[0].rule}")
            return Outcome(
                is_accepted,
                any(strict),
                False,
                "not sayable" if unsayable else f"not read: {type(error).__name__}",
            )
    if fake.refused:
        return Outcome(False, False, False, f"refused: {fake.refused[0].rule}")
    adapter = TypeAdapter(kind)
    try:
        is_equal = isinstance(returned_value, type(value)) and adapter.dump_json(
            returned_value
        ) == adapter.dump_json(value)
    except Exception:
        is_equal = False
    return Outcome(True, any(strict), is_equal, "" if is_equal else "silently another value")


def _ours(provider: str, call: Callable[[dict[str, Any], str], Any]) -> Ask:
    def ask(kind: Any, url: str) -> Any:
        bound = Output(kind).bind(get(provider))
        return bound.read(call(bound.request(), url)).unwrap()

    return ask


QUESTION: Any = [{"role": "user", "content": "Go."}]


def _openai(url: str) -> Any:
    import openai

    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def _anthropic(url: str, *, is_async: bool = False) -> Any:
    import anthropic

    client = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
    return client(base_url=url, api_key="none", max_retries=0)


def _google(url: str) -> Any:
    from google import genai

    client = genai.Client(api_key="none", http_options={"base_url": url})
    CLIENTS.append(
        client
    )  # a client that is garbage-collected closes the connection of its running call
    return client


CLIENTS: list[Any] = []


def ours() -> dict[str, Ask]:
    return {
        "openai": _ours("openai", lambda request, url: _openai(url).chat.completions.create(model="gpt-5", messages=QUESTION, **request)),
        "anthropic": _ours("anthropic", lambda request, url: _anthropic(url).messages.create(model="claude-sonnet-5", max_tokens=99, messages=QUESTION, **request)),
        "gemini": _ours("gemini", lambda request, url: _google(url).models.generate_content(model="gemini-3-pro", contents="Go.", **request)),
    }  # fmt: skip


def sdk_helpers() -> dict[str, Ask]:
    def parsed(kind: Any, url: str) -> Any:
        config: Any = {"response_mime_type": "application/json", "response_schema": kind}
        return (
            _google(url)
            .models.generate_content(model="gemini-3-pro", contents="Go.", config=config)
            .parsed
        )

    return {
        "openai": lambda kind, url: _openai(url).chat.completions.parse(model="gpt-5", messages=QUESTION, response_format=kind).choices[0].message.parsed,
        "anthropic": lambda kind, url: _anthropic(url).messages.parse(model="claude-sonnet-5", max_tokens=99, messages=QUESTION, output_format=kind).parsed_output,
        "gemini": parsed,
    }  # fmt: skip


def instructor_peer() -> dict[str, Ask]:
    import instructor

    def asking(made: Callable[[str], Any], **more: Any) -> Ask:
        return lambda kind, url: made(url).chat.completions.create(
            messages=QUESTION, response_model=kind, max_retries=0, **more
        )

    return {
        "openai": asking(lambda url: instructor.from_openai(_openai(url), mode=instructor.Mode.JSON_SCHEMA), model="gpt-5"),
        "anthropic": asking(lambda url: instructor.from_anthropic(_anthropic(url)), model="claude-sonnet-5", max_tokens=99),
        "gemini": asking(lambda url: instructor.from_genai(_google(url), mode=instructor.Mode.GENAI_STRUCTURED_OUTPUTS), model="gemini-3-pro"),
    }  # fmt: skip


def pydantic_ai_peer() -> dict[str, Ask]:
    import pydantic_ai
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    def asking(made: Callable[[str], Any]) -> Ask:
        def ask(kind: Any, url: str) -> Any:
            agent = pydantic_ai.Agent(
                made(url), output_type=pydantic_ai.NativeOutput(kind), retries=0
            )
            return agent.run_sync("Go.").output

        return ask

    return {
        "openai": asking(lambda url: OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))),
        "anthropic": asking(lambda url: AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(anthropic_client=_anthropic(url, is_async=True)))),
        "gemini": asking(lambda url: GoogleModel("gemini-3-pro", provider=GoogleProvider(api_key="none", base_url=url))),
    }  # fmt: skip


def langchain_peer() -> dict[str, Ask]:
    import langchain_anthropic
    import langchain_google_genai
    import langchain_openai

    def asking(made: Callable[[str], Any]) -> Ask:
        return lambda kind, url: (
            made(url).with_structured_output(kind, method="json_schema").invoke("Go.")
        )

    return {
        "openai": asking(lambda url: langchain_openai.ChatOpenAI(model="gpt-5", base_url=f"{url}/v1", api_key="none", max_retries=0)),
        "anthropic": asking(lambda url: langchain_anthropic.ChatAnthropic(model="claude-sonnet-4-5", base_url=url, api_key="none", max_retries=0)),
        "gemini": asking(lambda url: langchain_google_genai.ChatGoogleGenerativeAI(model="gemini-3-pro", google_api_key="none", base_url=url, max_retries=0)),
    }  # fmt: skip


PEERS: dict[str, tuple[Callable[[], dict[str, Ask]], list[str]]] = {
    "toolshape": (ours, ["toolshape"]),
    "the SDK's helper": (sdk_helpers, ["openai", "anthropic", "google-genai"]),
    "pydantic-ai": (pydantic_ai_peer, ["pydantic-ai-slim"]),
    "instructor": (instructor_peer, ["instructor"]),
    "langchain": (
        langchain_peer,
        ["langchain-openai", "langchain-anthropic", "langchain-google-genai"],
    ),
}
PROVIDERS = ("openai", "anthropic", "gemini")


def measure(libraries: list[str]) -> dict[str, Any]:
    """Return the outcome of each type at each provider, by library, with the versions."""
    results_by_library: dict[str, Any] = {}
    for library in libraries:
        make, packages = PEERS[library]
        results_by_library[library] = {
            "versions": [f"{package} {version(package)}" for package in packages],
            "outcomes": {
                provider: {
                    name: outcome_of(ask, provider, kind, value, is_ours=library == "toolshape")
                    for name, kind, value in TYPES
                }
                for provider, ask in make().items()
            },
        }
    return results_by_library


def row(provider: str, library: str, outcomes: dict[str, Any]) -> str:
    of_provider = [Outcome(*outcome) for outcome in outcomes.values()]
    failures = Counter(
        outcome.failure.partition(":")[0] for outcome in of_provider if outcome.failure
    )
    shown = ", ".join(f"{count} {failure}" for failure, count in failures.most_common())
    counts = " | ".join(str(sum(flags)) for flags in list(zip(*of_provider, strict=True))[:3])
    return f"| {provider} | {library} | {counts} | {shown} |"


def format_page(found: dict[str, Any]) -> str:
    columns = [
        (provider, library) for provider in PROVIDERS for library in PEERS if library in found
    ]
    versions = ", ".join(
        dict.fromkeys(each for library in found.values() for each in library["versions"])
    )
    lines = [
        "# Answers in a type, beside other libraries", "",
        f"`nox -s 'measure(outputs)'` at {commit_of(Path(toolshape.__file__))}; {versions}.", "",
        f"{len(TYPES)} types at three providers. Each library asks through its real client, and a fake plays the provider: it refuses the",
        "schemas that the provider's cited rules refuse, and answers with the value in the schema that was sent. The rules are ours, each",
        "with its source; the providers were not asked.", "",
        "| provider | library | schema accepted | and constrains | value came back equal | otherwise |", "|---|---|--:|--:|--:|---|",
        *(row(provider, library, found[library]["outcomes"][provider]) for provider, library in columns), "",
        "*raises first*: an error before a request. *refused*: by the provider's rules. *not sayable*: the schema that was sent has no form",
        "of the value, so that a model cannot give it. *not read*: an error at the answer. *silently another value*: no error, and another value.",
    ]  # fmt: skip
    for provider in PROVIDERS:
        libraries = [library for at, library in columns if at == provider]
        lines += [
            "",
            f"| at {provider} | {' | '.join(libraries)} |",
            "|---" * (len(libraries) + 1) + "|",
        ]
        for name, _, _ in TYPES:
            outcomes = [
                Outcome(*found[library]["outcomes"][provider][name]) for library in libraries
            ]
            lines.append(
                f"| {name.replace('|', 'or')} | {' | '.join(each.failure or 'yes' for each in outcomes)} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure some libraries. Write the outcomes to a file, or the page with the outcomes of other environments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="+", choices=PEERS)
    parser.add_argument("--to", type=Path, help="Write what came of them to this file.")
    parser.add_argument(
        "--others", type=Path, help="A file with what came of the others; write the page."
    )
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    outcomes = measure(options.libraries)
    if options.to is not None:
        options.to.write_text(json.dumps(outcomes), encoding="utf-8")
    if options.others is not None:
        page = format_page({**json.loads(options.others.read_text(encoding="utf-8")), **outcomes})
        RESULTS.write_text(page, encoding="utf-8")
        print(page)


if __name__ == "__main__":
    main()
