"""What an author writes reaches the model, or is a finding, or is refused at the definition: nothing is lost in silence."""

import collections
import datetime
import functools
from typing import Annotated, Any, NamedTuple, Optional, Union

import pytest
from pydantic import VERSION, BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from toolshape import DefinitionError, Output, Registry, Tool, tool


def with_doc(text: str) -> Tool[..., Any]:
    def look(query: str, most: int) -> None:
        pass

    look.__doc__ = text
    return tool(look)


@pytest.mark.parametrize(
    "entries",
    [
        "Args:\n    query: first thing\n    most: second thing",
        "Args:\n    query = first thing\n    most = second thing",
        "Args:\n    query - first thing\n    most - second thing",
        "Args:\n    query    first thing\n    most    second thing",
        "Parameters\n----------\nquery (str): first thing\nmost (int): second thing",
    ],
)
def test_entries_that_are_nearly_googles(entries):
    properties = with_doc(f"Look.\n\n{entries}\n").input_schema["properties"]
    assert [field["description"] for field in properties.values()] == [
        "first thing",
        "second thing",
    ]


def test_entries_that_are_not_indented():
    made = with_doc(
        "Look.\n\n    Args:\n    query: first\n        thing\n    most: second thing\n    "
    )
    properties = made.input_schema["properties"]
    assert properties["most"]["description"] == "second thing"
    assert "first" in properties["query"]["description"]
    assert made.description == "Look."


def test_a_line_that_begins_like_an_entry_continues_the_one_above():
    made = with_doc(
        "Look.\n\nArgs:\n    query: first thing, where\n        most = 3 is usual\n    most: second thing\n"
    )
    properties = made.input_schema["properties"]
    assert "most = 3 is usual" in properties["query"]["description"]
    assert properties["most"]["description"] == "second thing"


def test_the_types_of_listed_keys_are_kept():
    def take(row: dict[str, Any]) -> None:
        """Take.

        Args:
            row (dict): a row with
                name (str): the name
        """

    assert "name (str): the name" in tool(take).input_schema["properties"]["row"]["description"]


class Order(BaseModel):
    """An order.

    Note:
        Never above five.

    Example:
        sku A-17
    """

    sku: str


class Sphinx(BaseModel):
    """An order.

    :ivar sku: What is ordered.
    :vartype sku: str
    """

    sku: str


@pytest.mark.parametrize(
    ("model", "words"),
    [(Order, "Never above five."), (Order, "A-17"), (Sphinx, "What is ordered.")],
)
def test_what_a_model_says_of_its_fields_and_notes(model, words):
    assert words in str(Output(list[model]).schema["$defs"])


class Place(NamedTuple):
    lat: float
    long: float


Size = collections.namedtuple("Size", "width height")  # noqa: PYI024 - it has no types


@pytest.mark.parametrize(("kind", "names"), [(Place, ["lat", "long"]), (Size, ["width", "height"])])
def test_the_places_of_a_named_tuple_have_their_names(kind, names):
    [schema] = Output(list[kind]).schema["$defs"].values()
    items = schema["prefixItems"]
    assert [item["description"] for item in items] == names


def test_extra_items_of_a_typed_dict():
    class Open(TypedDict, extra_items=Any):  # type: ignore[call-arg]
        known: int

    assert Output(Open).schema["additionalProperties"] == {}


def test_limits_are_in_the_branch_that_they_are_for():
    schema = Output(Annotated[Union[int, str], Field(ge=2)]).schema
    assert schema["anyOf"] == [{"minimum": 2, "type": "integer"}, {"type": "string"}]


def test_a_limit_of_a_branch_does_not_hide_the_one_around_it():
    kind = Annotated[Union[Annotated[int, Field(ge=5)], str], Field(ge=10)]
    schema = Output(kind).schema
    assert (schema["minimum"], schema["anyOf"][0]["minimum"]) == (10, 5)


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: datetime.date

    @model_validator(mode="before")
    @classmethod
    def passes(cls, value: Any) -> Any:
        return value


class Defaulted(BaseModel):
    day: datetime.date = Field("nonsense", validate_default=True)  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("kind", "words"), [(Strict, "takes no JSON"), (Defaulted, "is refused by the field itself")]
)
def test_what_no_call_can_use_is_a_finding(kind, words):
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__ = {"x": kind}
    assert [words in finding.message for finding in tool(take).findings if finding.rule == "unusable"] == [True]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Annotated[datetime.datetime, Field(pattern="T")], "constraint"),
        (Annotated[str, Field(pattern="(?=a)")], "look-around"),
        (BaseModel, "name the model that is meant"),
    ],
)
def test_what_can_take_nothing_is_refused(kind, words):
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__ = {"x": kind}
    with pytest.raises(DefinitionError, match=words):
        _ = tool(take).input_schema


class Desk:
    def pay(self, cents: int) -> int:
        return cents


@pytest.mark.parametrize("kind", [Desk().pay, functools.partial(Desk().pay, 1), functools.partial(print)])  # fmt: skip
def test_a_function_is_no_type_of_an_answer(kind):
    with pytest.raises(DefinitionError, match="must be a type"):
        Output(kind)


class Row(BaseModel):
    note: Union[str, SkipJsonSchema[None]] = None


def test_a_result_with_a_hidden_branch_is_sent():
    @tool
    def read() -> Row:
        """Read."""
        return Row()

    bound = Registry([read]).bind("mcp")
    [message] = bound.calls_as_messages([("read", {})])
    assert bound.dispatch(message)[0].ok


def test_classes_along_many_paths_are_linear_work():
    """Each model has the three before it: as schemas within schemas, that would be 3 to the power of 60.

    Pydantic before 2.14 itself needs that long to define such models, so there are few of them there.
    """
    models: list[Any] = []
    for number in range(60 if VERSION >= "2.14" else 12):
        earlier = {f"r{place}": (Optional[model], None) for place, model in enumerate(models[-3:])}
        models.append(create_model(f"Linked{number}", n=(int, ...), **earlier))

    def take(x: Any) -> Any:
        """Take it."""
        return x

    take.__annotations__ = {"x": models[-1]}
    [result] = Registry([tool(take)]).dispatch(
        {"name": "take", "arguments": '{"x": {"n": 1, "r0": {"n": "2"}}}'}
    )
    assert result.value == models[-1](n=1, r0={"n": 2})
    assert [coercion.path for coercion in result.coercions] == ["x.r0.n"]
