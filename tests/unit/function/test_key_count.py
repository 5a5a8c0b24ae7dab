"""The keys that a validated model was given are counted without its JSON, or not at all."""

import functools
import json
import warnings
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    create_model,
)
from zoo import CASES, Line, Tree

from toolshape import CallError, Coerce, tool
from toolshape._function.core_schema.key_count import compile_key_count
from toolshape._function.core_schema.widen import widen
from toolshape._function.model import FunctionDefinition
from toolshape._tools.tool import record_of
from toolshape._validation.coercion import choose_rules
from toolshape._validation.model_traits import traits_of
from toolshape._validation.pydantic_checker import compile_slow_path
from toolshape._validation.settings import ValidationSettings


class Plain(BaseModel):
    a: int
    b: str = "b"


class Holder(BaseModel):
    first: Plain
    others: list[Plain] = []
    named: dict[str, Plain] = {}
    maybe: Optional[Plain] = None
    deep: list[list[Plain]] = []
    words: dict[str, str] = {}


class Twice(BaseModel):
    one: Holder
    two: Holder


class Watching(BaseModel):
    """A model that looks at who asks it for its fields."""

    inner: Plain

    def __getattribute__(self, name: str) -> Any:
        if name == "inner":
            raise AssertionError(name)
        return super().__getattribute__(name)


with warnings.catch_warnings():  # pydantic says so, and takes them
    warnings.simplefilter("ignore")
    Shadowing: Any = create_model(
        "Shadowing", model_extra=(Plain, ...), model_fields_set=(Plain, ...)
    )
LIGATURES: Any = {"\ufb01eld": (Plain, ...), "\u00b5": (Plain, ...)}
Folded: Any = create_model("Folded", **LIGATURES)
Keyword: Any = create_model("Keyword", **{"class": (Plain, ...)})  # type: ignore[call-overload]
ONE = {"a": 1}
TWO = {"a": 1, "b": "x"}
HOLDER = {
    "first": TWO,
    "others": [ONE, TWO],
    "named": {"x": ONE, "first": TWO},
    "maybe": ONE,
    "deep": [[ONE], [], [TWO, TWO]],
    "words": {"p": "q"},
}


def keys_in(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (len(value) if isinstance(value, dict) else 0) + sum(map(keys_in, inner))


def nested(levels: int) -> Any:
    model: Any = Plain
    for level in range(levels):
        model = create_model(f"Level{level}", inner=(list[model], ...))
    return model


def doubled(levels: int) -> Any:
    model: Any = Plain
    for level in range(levels):
        model = create_model(f"Both{level}", left=(model, ...), right=(model, ...))
    return model


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (Plain, ONE),
        (Plain, TWO),
        (Holder, {"first": ONE}),
        (Holder, {"first": ONE, "maybe": None, "words": {}}),
        (Holder, HOLDER),
        (Twice, {"one": HOLDER, "two": {"first": ONE}}),
        (Watching, {"inner": TWO}),
        (Keyword, {"class": TWO}),
        (Shadowing, {"model_extra": ONE, "model_fields_set": TWO}),
        (Folded, {"\ufb01eld": ONE, "\u00b5": TWO}),
        (
            nested(20),
            functools.reduce(lambda inner, _: {"inner": [inner, inner][:1]}, range(20), TWO),
        ),
        (
            doubled(5),
            functools.reduce(lambda inner, _: {"left": inner, "right": inner}, range(5), ONE),
        ),
    ],
)
def test_counted(model, value):
    """What was given counts, a default does not."""
    adapter = TypeAdapter(model)
    count_keys = compile_key_count(widen(adapter.core_schema))
    assert count_keys is not None
    assert count_keys(adapter.validate_python(value)) == keys_in(value)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


@pytest.mark.parametrize(
    "annotation",
    [
        Tree,
        Open,
        Union[Plain, Line],
        dict[str, Any],
        RootModel[Plain],
        set[tuple[str, ...]],
        Annotated[Plain, AfterValidator(lambda plain: plain)],
        create_model("Aliased", plain=(Plain, Field(validation_alias="x")), other=(Open, ...)),
    ],
)
def test_not_told(annotation):
    """What contains itself or holds anything is counted in its JSON."""
    assert compile_key_count(widen(TypeAdapter(annotation).core_schema)) is None


# --- coerced at once, or on the slow path --------------------------------------------------------------------------

SLIPS = [
    '"5"',
    "5.0",
    "5",
    "true",
    '"true"',
    "null",
    '"null"',
    '"None"',
    '"A"',
    "[]",
    "{}",
    '"[1]"',
    "1e999",
    '"\\u003a"',
]


def outcome(run: Any, *given: Any) -> Any:
    try:
        return run(*given)
    except CallError as error:
        return error.code, str(error)


def switched(
    a: Annotated[int, Field(strict=True)] = 1,
    b: Annotated[bool, Coerce("bool_text")] = False,
    c: Annotated[int, Coerce(number_text=False)] = 1,
    s: str = "",
    e: Literal["A", "b"] = "b",
) -> str:
    """Rules of its own."""
    return s


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    name: (case.function, case.arguments) for name, case in CASES.items()
}
FUNCTIONS["switched"] = (switched, {"a": 1, "b": False, "c": 1, "s": "x", "e": "A"})
HIDDEN = [
    '{"s": "x", "s": "\\u003a", "e": "a"}',
    '{"s": ":", "s": "x", "e": "a"}',
    '{"s": ":", "s": "::", "e": "a"}',
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [None, {"bool_text": True, "scalar_as_list": True, "ignore_extra": True}], ids=str
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_at_once_or_by_and_by(name, rules):
    """Invalid scalars are coerced at once; value, coercions and errors are those of the whole slow path."""
    function, arguments = FUNCTIONS[name]
    made = tool(function)
    assert isinstance(record_of(made).definition, FunctionDefinition)
    traits = traits_of(record_of(made).definition)
    if traits.has_decimals:
        pytest.skip("its numbers are read as they were written, and never at once")
    slowly = compile_slow_path(traits, ValidationSettings(made.name, choose_rules(rules)))
    validate_json = made.model.__pydantic_validator__.validate_json
    texts = [
        json.dumps({**arguments, field: "@"}).replace('"@"', slip)
        for field in made.model.model_fields
        for slip in SLIPS
    ]
    texts += [text.replace("}", ', "b": "2", "b": "3"}', 1) for text in texts[:: len(SLIPS)]]
    texts += HIDDEN if function is switched else []
    for text in texts:
        try:
            validate_json(text)
        except ValueError as error:
            assert outcome(slowly, text, error) == outcome(slowly, text, None)
