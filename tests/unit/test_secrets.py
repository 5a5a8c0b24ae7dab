"""Secrets planted wherever they could leak from reach no model: not in a line, not in the annotated JSON."""

import dataclasses
import functools
import json
import logging
import os
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    Secret,
    SecretBytes,
    SecretStr,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from toolshape import CallError, Injected, Registry, Tool, ToolError, tool

CANARY = "canary-7f3a"


class Vault:
    def __repr__(self) -> str:
        return CANARY


class Login(BaseModel):
    user: str
    password: SecretStr
    pin: Secret[int] = Secret(0)
    key: SecretBytes = SecretBytes(b"")
    token: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = ""


def connect(_: Any) -> Any:
    raise ValueError(f"cannot connect to postgres://admin:{CANARY}@db")


def library(value: Any) -> Any:
    json.loads("{" + CANARY)
    return value


def in_c(value: Any) -> Any:
    int(CANARY)
    return value


def crash(value: Any) -> Any:
    raise OSError(CANARY)


class Deep(BaseModel):
    n: int

    @model_validator(mode="after")
    def look(self) -> "Deep":
        int(CANARY)
        return self


@tool
def act(
    login: Login | None = None,
    n: int = 0,
    many: list[Login] = [],
    by_library: Annotated[int, AfterValidator(library)] = 0,
    by_c: Annotated[int, AfterValidator(in_c)] = 0,
    by_crash: Annotated[int, AfterValidator(crash)] = 0,
    by_partial: Annotated[int, AfterValidator(functools.partial(library))] = 0,
    deep: Deep | None = None,
    default: str = CANARY,
    *,
    vault: Injected[Vault],
    again: Injected[str] = CANARY,
) -> str:
    if n == 1:
        raise RuntimeError(f"{CANARY} {vault!r}")
    if n == 2:
        connect(vault)
    if n == 3:
        raise ToolError("on purpose") from RuntimeError(CANARY)
    if n == 4:
        raise GeneratorExit(CANARY)
    return "done"


LOGIN = {"user": "ada", "password": CANARY, "pin": CANARY, "key": CANARY, "token": CANARY}
WRONG: list[Any] = [
    {"login": {**LOGIN, "user": 5.5}},
    {"login": {**LOGIN, "password": [CANARY]}},
    {"login": {**LOGIN, "token": {"a": CANARY}}},
    {"login": {"user": "ada", "Password": CANARY}},
    {"login": {**LOGIN, "pin": 1}, "n": "two"},
    {"login": [LOGIN], "n": "two"},
    {"login": CANARY},
    {"login": f"{{'password': '{CANARY}'}}"},
    {"many": [LOGIN, {**LOGIN, "pin": 5, "user": None}]},
    {"many": CANARY},
    {"many": {"a": LOGIN}},
    {"by_library": 1}, {"by_c": 1}, {"by_crash": 1}, {"by_partial": 1}, {"deep": {"n": 1}},
    {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4},
    {"vault": 1}, {"again": "x"}, {"valt": 1},
]  # fmt: skip


@pytest.mark.parametrize("feedback", ["lines", "json"])
@pytest.mark.parametrize("arguments", WRONG, ids=range(len(WRONG)))
def test_no_model_reads_a_secret(arguments, feedback, caplog, monkeypatch):
    """Of the arguments, the injected values, the environment, exceptions and defaults."""
    monkeypatch.setitem(os.environ, "CANARY", CANARY)
    caplog.set_level(logging.CRITICAL, logger="toolshape")
    registry = Registry([act], feedback=feedback)
    body = {"choices": [{"message": {"role": "assistant", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "act", "arguments": json.dumps(arguments)}}
    ]}}]}  # fmt: skip
    results = registry.dispatch(body, inject={"vault": Vault()})
    [result] = results
    assert not result.ok
    for told in (result.text, str(result.error), json.dumps(results.messages)):
        assert CANARY not in told
    assert str(result.error)


def test_the_same_of_a_tool_from_a_definition():
    """By the marks of its schema."""
    secret = {"type": "string", "writeOnly": True}
    login = {
        "type": "object",
        "properties": {"user": {"type": "string"}, "password": secret},
        "required": ["user"],
    }
    schema = {"type": "object", "properties": {"login": login, "n": {"type": "integer"}, "pin": {"type": "string", "format": "password", "maxLength": 3}}}  # fmt: skip
    made = Tool.from_definition({"name": "act", "parameters": schema})
    for feedback in ("lines", "json"):
        for arguments in (
            {"login": {"password": CANARY}}, {"login": CANARY}, {"login": [CANARY]}, {"pin": CANARY}, {"login": {"user": 1.5, "password": CANARY}},
            {"login": {"user": "a", "password": CANARY}, "n": "two"}, {"login": {"user": "a", "password": [CANARY]}},
        ):  # fmt: skip
            [result] = (
                Registry([made], feedback=feedback)
                .bind("json-schema")
                .plan({"name": "act", "arguments": arguments})
                .results
            )
            assert result.error.code == "invalid_arguments", arguments
            assert CANARY not in result.text


class Dates(BaseModel):
    start: int
    end: int

    @model_validator(mode="after")
    def ordered(self) -> "Dates":
        if self.end < self.start:
            raise ValueError("end must not be before start")
        return self

    @field_validator("start")
    @classmethod
    def positive(cls, start: int) -> int:
        if start < 0:
            raise AssertionError("start must not be negative")
        return start


def refused_here(value: int) -> int:
    return check_elsewhere(value)


def check_elsewhere(value: int) -> int:
    raise PydanticCustomError("odd", "must be even, like {like}", {"like": 4})


@pytest.mark.parametrize(
    ("annotation", "value", "line"),
    [
        (Dates, {"start": 5, "end": 1}, "x: end must not be before start"),
        (Dates, {"start": -5, "end": 1}, "x.start: start must not be negative"),
        (Annotated[int, AfterValidator(refused_here)], 3, "x: must be even, like 4"),
        (Annotated[int, AfterValidator(library)], 3, "x: the value is rejected"),
        (Annotated[int, AfterValidator(in_c)], 3, "x: the value is rejected"),
    ],
)
def test_what_an_author_says_on_purpose_is_told(annotation, value, line):
    """A ``raise`` or ``assert`` of the validator's own module; what a library raises in it is not."""

    def f(x): ...

    f.__annotations__["x"] = annotation
    with pytest.raises(CallError) as caught:
        tool(f).call({"x": value})
    assert str(caught.value).splitlines()[1:] == [line]
    assert caught.value.__cause__ is not None  # for the developer


def test_a_tool_error_of_a_validator_is_for_the_model():
    """As one of the tool itself."""

    def check(value: int) -> int:
        raise ToolError("Only on weekdays.", retryable=True)

    def f(x: Annotated[int, AfterValidator(check)]) -> None: ...

    [result] = Registry([f]).dispatch({"name": "f", "arguments": {"x": 1}})
    assert (result.text, result.error.code, result.error.retryable) == (
        "Only on weekdays.",
        "tool_error",
        True,
    )


class Customer(BaseModel):
    ssn: int
    name: str = ""

    @model_validator(mode="after")
    def known(self) -> "Customer":
        raise ValueError(f"{CANARY} is not known")


def lookup_of(value: Any) -> Any:
    """A row of the database, held to a model of the server's own."""
    Customer.model_validate({"ssn": CANARY})
    return value


def looked_up_whole(value: Any) -> Any:
    Customer.model_validate({"ssn": 5, "name": CANARY})
    return value


def lacking(value: Any) -> Any:
    Customer.model_validate({CANARY: 1, "name": CANARY})
    return value


def replaced(value: Any) -> Any:
    return CANARY


def replaced_by_a_row(value: Any) -> Any:
    return {"ssn": CANARY, "rows": [CANARY], CANARY: 1}


class Row(BaseModel):
    ssn: int
    rows: list[int] = []


class Rowed(BaseModel):
    row: Row

    @model_validator(mode="before")
    @classmethod
    def load(cls, value: Any) -> Any:
        return {"row": {"ssn": CANARY, "rows": [CANARY, 1]}}


FETCHING = [
    Annotated[str, AfterValidator(lookup_of)],
    Annotated[str, AfterValidator(looked_up_whole)],
    Annotated[dict[str, Any], AfterValidator(lookup_of)],
    Annotated[dict[str, Any], AfterValidator(looked_up_whole)],
    Annotated[dict[str, Any], AfterValidator(lacking)],
    Annotated[str, BeforeValidator(lookup_of)],
    Annotated[int, BeforeValidator(replaced)],
    Annotated[Row, BeforeValidator(replaced_by_a_row)],
    Annotated[dict[str, int], BeforeValidator(replaced_by_a_row)],
    Annotated[list[int], BeforeValidator(lambda _: [CANARY, 1])],
    Annotated[int, WrapValidator(lambda value, handler: handler(CANARY))],
    Rowed,
    Annotated[int, BeforeValidator(replaced)] | None,
    Annotated[int, BeforeValidator(replaced)] | list[int],
    list[Annotated[int, BeforeValidator(replaced)]],
    dict[str, Annotated[int, BeforeValidator(replaced)]],
    dict[Annotated[int, BeforeValidator(replaced)], int],
    Json[Annotated[int, BeforeValidator(replaced)]],
]
SENT = ["7", 7, {"name": "a"}, {"row": {"ssn": 1}}, [7, 8], {"7": 7}, "[7]"]


@pytest.mark.parametrize("feedback", ["lines", "json"])
@pytest.mark.parametrize("annotation", FETCHING, ids=range(len(FETCHING)))
def test_what_a_validator_fetched_is_told_to_nobody(annotation, feedback, caplog):
    """Values of the server, and the names in them, are not sent; errors of the model's own are."""
    caplog.set_level(logging.CRITICAL, logger="toolshape")

    def f(x): ...

    f.__annotations__["x"] = annotation
    refused = 0
    for strict in (False, True):
        bound = Registry([tool(f)], feedback=feedback).bind("openai", strict=strict)
        for sent in SENT:
            arguments = json.dumps({"x": sent})
            call = {
                "id": "c",
                "type": "function",
                "function": {"name": "f", "arguments": arguments},
            }
            results = bound.dispatch(
                {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
            )
            refused += not results.ok
            for told in (results[0].text, json.dumps(results.messages), json.dumps(bound.export())):
                assert CANARY not in told
    assert refused


class Marked(BaseModel):
    token: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = CANARY
    renamed: Annotated[
        str,
        Field(
            json_schema_extra={"writeOnly": True}, validation_alias="in", serialization_alias="out"
        ),
    ] = CANARY


@dataclasses.dataclass
class Record:
    marked: Marked = dataclasses.field(default_factory=Marked)


def defaults_of_secrets(
    one: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = CANARY,
    two: Marked = Marked(),
    three: list[Marked] = [Marked()],
    four: Record = Record(),
    five: Any = Marked(),
    six: SecretStr = SecretStr(CANARY),
    seven: dict[str, Marked] = {"a": Marked()},
    eight: Json[Marked] | None = None,
) -> Marked:
    return two


@pytest.mark.parametrize(
    "provider",
    [
        "openai",
        "anthropic",
        "gemini-openapi",
        "mcp",
        "huggingface",
        "cohere",
        "ollama",
        "json-schema",
    ],
)
def test_no_default_of_a_secret_is_exported(provider):
    """Wherever it stands, and of what a result may hold."""
    for strict in (False, True) if provider in ("openai", "anthropic", "cohere") else (False,):
        assert CANARY not in json.dumps(
            Registry([defaults_of_secrets]).export(provider, strict=strict)
        )
    secret = {"type": "string", "writeOnly": True, "default": CANARY}
    schema = {
        "type": "object",
        "properties": {
            "pin": secret,
            "login": {"type": "object", "properties": {"pin": secret}, "default": {"pin": CANARY}},
            "free": {
                "type": "object",
                "patternProperties": {"^p": secret},
                "default": {"pin": CANARY},
            },
            "kind": {"type": "string", "const": "a", "default": "a"},
        },
    }
    made = Tool.from_definition({"name": "t", "parameters": schema})
    assert CANARY not in json.dumps(Registry([made]).export(provider))
    assert made.input_schema["properties"]["kind"]["default"] == "a"


@pytest.mark.parametrize("feedback", ["lines", "json"])
@pytest.mark.parametrize("end", ["", "}"])
def test_json_text_that_holds_a_secret_is_not_shown(feedback, end):
    """What is inside such a text has a schema of its own; text that cannot be read is shown as little."""

    @tool
    def packed(account: Json[Login], number: int) -> str:
        """Take JSON text."""
        return ""

    text = f'{{"user": 1, "password": "{CANARY}"{end}'
    for given in ({"account": text, "number": 1}, {"account": f"[{text}", "number": "x"}):
        [result] = Registry([packed], feedback=feedback).dispatch(
            {"name": "packed", "arguments": given}
        )
        assert result.error is not None
        assert CANARY not in str(result.error)


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (Secret[dict[str, int]], {"hunter2": "x"}),
        (Secret[dict[str, dict[str, int]]], {"a": {"hunter2": "x"}}),
        (Secret[Login], {"hunter2": 1}),
    ],
)
@pytest.mark.parametrize("feedback", ["lines", "json"])
def test_keys_of_a_secret_are_a_part_of_it(annotation, written, feedback):
    """What is wrong inside of a secret is said of the whole."""

    def take(x):
        return x

    take.__annotations__["x"] = annotation
    [result] = Registry([tool(take)], feedback=feedback).dispatch(
        {"name": "take", "arguments": {"x": written}}
    )
    assert result.error.code == "invalid_arguments"
    assert "hunter2" not in result.text
    assert {problem.path for problem in result.error.problems} == {"x"}
