"""Nulls that mean "left out", taken in one parse: the same as dropping them first, down to which fields were set."""

import datetime
import json
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType
from zoo import CASES, Line, Order, Tree

from toolshape import CallError, Registry, tool
from toolshape._families import get
from toolshape._function.core_schema.null_defaults import compile_null_admitting
from toolshape._tools.export import to_wire
from toolshape._tools.tool import record_of
from toolshape._validation.coercion import choose_rules
from toolshape._validation.fast_path import compile_model_validation
from toolshape._validation.model_traits import traits_of
from toolshape._validation.settings import ValidationSettings

Maybe = TypeAliasType("Maybe", Optional[int])


class Deep(BaseModel):
    tags: list[str] = []
    order: Order | None = None
    lines: list[Line] = Field(default_factory=list)
    note: str = "n"
    when: datetime.date = datetime.date(2026, 1, 1)


class Odd(Enum):
    NOTHING = None
    SOMETHING = "s"


class Strict(BaseModel):
    size: int = 3

    @model_validator(mode="after")
    def is_small(self) -> "Strict":
        assert self.size < 10
        return self


class Checked(BaseModel):
    """A validator that looks at the fields before it."""

    low: int = 0
    high: int

    @field_validator("high")
    @classmethod
    def is_above(cls, value: int, info: Any) -> int:
        assert value > info.data["low"]
        return value


class Doubling(BaseModel):
    model_config = ConfigDict(validate_default=True)
    size: Annotated[int, AfterValidator(lambda value: value * 2)] = 5


class Otherwise(BaseModel):
    """A field that is shown otherwise than it is."""

    size: Annotated[Optional[int], WithJsonSchema({"type": "integer"})] = 6


class Following(BaseModel):
    first: int = 1
    second: int = Field(default_factory=lambda data: data["first"] + 1)


class Several(BaseModel):
    size: int = Field(3, validation_alias=AliasChoices("size", "Size"))


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    size: int = Field(3, alias="Size")


def both(made: Any, text: str) -> list[Any]:
    """What is made of a text by the strict form's own validator, and by dropping nulls first; or why it is refused."""
    lens = to_wire(get("openai"), made.spec, True).lens
    found = []
    for drops in (lens.drops, None):
        settings = ValidationSettings("t", choose_rules(None), lens.back, drops)
        try:
            found.append(
                compile_model_validation(traits_of(record_of(made).definition), settings)(text)
            )
        except CallError as error:
            found.append((str(error), ()))
    return found


def fields_set(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_fields_set, {
            name: fields_set(item) for name, item in value.__dict__.items()
        }
    if isinstance(value, dict):
        return {key: fields_set(item) for key, item in value.items()}
    return [fields_set(item) for item in value] if isinstance(value, list) else value


DROPPING = [
    name
    for name, case in CASES.items()
    if to_wire(get("openai"), tool(case.function).spec, True).lens.drops
]


@pytest.mark.parametrize("name", DROPPING)
def test_the_same_for_every_function(name):
    """For every function of the zoo that only leaves nulls out: the same model, whichever way it is read."""
    made = tool(CASES[name].function)
    lens = to_wire(get("openai"), made.spec, True).lens
    said = lens.out(CASES[name].arguments) if lens.out else CASES[name].arguments
    once, first = both(made, json.dumps(said))
    assert once == first
    assert fields_set(once[0]) == fields_set(first[0])


def taking(annotation: Any, default: Any = ...) -> Any:
    if default is ...:

        def take(x: Any) -> Any:
            return x
    else:

        def take(x: Any = default) -> Any:
            return x

    take.__annotations__["x"] = annotation
    return tool(take)


NULLS = {
    "a nested model": (
        taking(Deep),
        {"x": {"order": None, "lines": None, "note": None, "when": None, "tags": None}},
    ),
    "models in it": (
        taking(Deep),
        {
            "x": {
                "order": {"lines": [{"sku": "a", "qty": None}], "express": None, "note": None},
                "lines": [{"sku": "b", "qty": None}],
                "note": "null",
                "when": "2026-02-02",
                "tags": ["t"],
            }
        },
    ),
    "null that is a value": (taking(Optional[int], 5), {"x": None}),
    "null by an alias": (taking(Maybe, 5), {"x": None}),
    "null of an enum": (taking(Odd, Odd.SOMETHING), {"x": None}),
    "null of a literal": (taking(Literal[None, "a"], "a"), {"x": None}),
    "a union": (taking(Union[int, str], 5), {"x": None}),
    "a constraint": (taking(Annotated[int, Field(ge=3)], 5), {"x": None}),
    "a validator of the author's": (taking(Strict), {"x": {"size": None}}),
    "what came before": (taking(Checked), {"x": {"low": None, "high": 3}}),
    "a default that is validated": (taking(Doubling), {"x": {"size": None}}),
    "shown otherwise": (taking(Otherwise), {"x": {"size": None}}),
    "a default of what came before": (taking(Following), {"x": {"first": None, "second": None}}),
    "of several names": (taking(Several), {"x": {"size": None}}),
    "by its own name": (taking(Named), {"x": {"size": None}}),
    "by its alias": (taking(Named), {"x": {"Size": None}}),
    "a tree": (taking(Tree), {"x": {"name": "a", "children": None}}),
    "a key twice": (taking(Deep, Deep()), {"x": None, "y": None}),
    "null where none may be": (taking(int), {"x": None}),
}


@pytest.mark.parametrize("name", NULLS)
def test_the_same_of_nulls(name):
    """Where null is a value it stays one; where it means that something is left out, that was not set."""
    made, arguments = NULLS[name]
    text = json.dumps(arguments).replace('"y"', '"x"')
    once, first = both(made, text)
    assert once == first
    assert fields_set(once[0]) == fields_set(first[0])


def test_defaults_are_nobody_elses():
    """A default that can be changed is made anew for each call."""
    made = taking(Deep)
    bound = Registry([made]).bind("openai", strict=True)
    text = json.dumps(
        {"x": {"order": None, "lines": None, "note": None, "when": None, "tags": None}}
    )
    body = {"id": "c", "type": "function", "function": {"name": "take", "arguments": text}}
    [one], [other] = bound.dispatch(body), bound.dispatch(body)
    assert one.value == other.value == Deep()
    assert one.value.lines is not other.value.lines
    assert one.value.tags is not other.value.tags
    assert one.value.tags is not Deep.model_fields["tags"].default
    assert one.value.model_fields_set == {"order"}


@pytest.mark.parametrize(
    ("annotation", "is_told"),
    [(Line, True), (list[Line], True), (Order, True), (Strict, False), (Tree, False)],
)
def test_which_types_take_one_parse(annotation, is_told):
    """What an author's validator looks at, and what contains itself, is mapped back first."""
    made = taking(annotation)
    lens = to_wire(get("openai"), made.spec, True).lens
    assert (
        compile_null_admitting(made.model.__pydantic_core_schema__, lens.drops or frozenset())
        is not None
    ) is is_told
