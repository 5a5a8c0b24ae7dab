"""Where a text may stand, and which wins: Annotated, then the docstring, then the model's own."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Doc, TypedDict

from toolshape import tool


class Line(BaseModel):
    """A line of an order.

    Attributes:
        sku: What is ordered.

    Note:
        Also for a model.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    sku: str
    qty: int = Field(1, description="How many.")
    note: str = ""
    """What the customer said."""


@dataclass
class Point:
    """A place.

    Args:
        lat: North.
    """

    lat: float


class Filter(TypedDict):
    """What to keep.

    Attributes:
        region: Where.
    """

    region: str


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[str, Field(description="annotated")],
        Annotated[str, Doc("annotated")],
        Annotated[str, "annotated"],
        Annotated[str, "not this", Field(description="annotated")],
    ],
)
def test_annotated_wins_over_docstring(annotation):
    """Each way of writing a text into an annotation beats the docstring's."""

    def find(place):
        """Find.

        Args:
            place: docstring
        """

    find.__annotations__["place"] = annotation
    assert tool(find).input_schema["properties"]["place"]["description"] == "annotated"


def test_a_field_as_default_wins_over_docstring():
    """``= Field(...)`` is an annotation in another place."""

    @tool
    def find(
        place: str = Field("here", description="annotated"), days: int = Field(3, ge=1)
    ) -> None:
        """Find.

        Args:
            place: docstring
            days: from the docstring
        """

    properties = find.input_schema["properties"]
    assert properties["place"] == {"type": "string", "description": "annotated", "default": "here"}
    assert properties["days"] == {
        "type": "integer",
        "description": "from the docstring",
        "default": 3,
        "minimum": 1,
    }


def test_docstring_wins_over_the_model():
    """The parameter's own text stands beside the reference; the model's stands in its definition."""

    @tool
    def order(line: Line, where: Point, keep: Filter) -> None:
        """Order.

        Args:
            line: The one line.
        """

    schema = order.input_schema
    assert schema["properties"]["line"] == {"$ref": "#/$defs/Line", "description": "The one line."}
    assert schema["$defs"]["Line"]["description"] == (
        "A line of an order.\n\nNote:\n    Also for a model."
    )
    texts = {
        name: node["description"] for name, node in schema["$defs"]["Line"]["properties"].items()
    }
    assert texts == {
        "sku": "What is ordered.",
        "qty": "How many.",
        "note": "What the customer said.",
    }
    assert schema["$defs"]["Point"]["description"] == "A place."
    assert schema["$defs"]["Point"]["properties"]["lat"]["description"] == "North."
    assert schema["$defs"]["Filter"]["properties"]["region"]["description"] == "Where."


def test_returns_describes_the_output():
    """``Returns:`` is the result's text, and a part of the tool's: few providers are sent a schema of results."""

    @tool
    def count() -> int:
        """Count.

        Returns:
            How many there are.
        """

    assert count.description == "Count.\n\nReturns:\n    How many there are."
    assert count.output_schema == {"type": "integer", "description": "How many there are."}


def test_findings():
    """What works but deserves a look is a finding, not a warning."""

    @tool
    def loose(a, b: int):
        """
        Args:
            b: The b.
            c: There is none.
        """

    found = {(finding.path, finding.rule) for finding in loose.findings}
    assert found == {("a", "unannotated"), ("", "undescribed"), ("c", "documented_but_absent")}
    described = tool(description="Given.")(loose)
    assert described.description == "Given."
    assert ("", "undescribed") not in {
        (finding.path, finding.rule) for finding in described.findings
    }
