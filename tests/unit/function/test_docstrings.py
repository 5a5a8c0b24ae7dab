"""Docstrings: every style and every form users really write, and which of their sections a model reads."""

import dataclasses
from typing import Optional

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from toolshape import CallError, tool
from toolshape._function.docstrings import read_docstring


class Desk:
    def close(self, ticket: str) -> None:
        """Close a ticket.

        Args:
            ticket: Its number.
        """


class SubDesk(Desk):
    def close(self, ticket: str) -> None: ...


FORMS = {
    "google": """Do it.

    More about it.

    Args:
        first: The first.
        second (int): The second,
            on two lines.
        *rest: The rest: with a colon.

    Returns:
        dict: What was done.

    Raises:
        ValueError: Never.
    """,
    "google without blank lines": """Do it.

    More about it.
    Args:
        first: The first.
        second (list[dict[str, int]], optional): The second,
            on two lines.
        rest: The rest: with a colon.
    Returns: What was done.
    Note:
        Not for you.
    """,
    "google, blank after the title, other sections around": """Do it.

    More about it.

    Note:
        Not for you.

    Example:
        >>> do_it()

    Args:

        first: The first.
        second: The second,
            on two lines.
        rest: The rest: with a colon.

    Raises:
        no colon at all

    Returns:
        What was done.
    """,
    "numpy": """Do it.

    More about it.

    Parameters
    ----------
    first : str
        The first.
    second : int, optional
        The second,
        on two lines.
    *rest : tuple
        The rest: with a colon.

    Returns
    -------
    dict
        What was done.

    Algorithm
    ---------
    Not for you.

    See Also
    --------
    other : thing
    """,
    "rest": """Do it.

    More about it.

    .. note:: Not for you.
       Nor this.

    :param first: The first.
    :param int second: The second,
        on two lines.
    :type first: str
    :param rest: The rest: with a colon.
    :returns: What was done.
    :raises ValueError: Never.

    .. versionadded:: 1.0
    """,
    "epydoc": """Do it.

    More about it.

    @param first: The first.
    @type first: str
    @param second: The second,
        on two lines.
    @param rest: The rest: with a colon.
    @return: What was done.
    @raise ValueError: Never.
    """,
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_style_says_the_same(text):
    """Summary and body, each parameter with all its lines, the result: whatever the style."""
    doc = read_docstring(text, ("first", "second", "rest"))
    assert doc.description == "Do it.\n\nMore about it."
    assert doc.parameters == {
        "first": "The first.",
        "second": "The second,\non two lines.",
        "rest": "The rest: with a colon.",
    }
    assert doc.returns == "What was done."


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        (None, "", {}),
        ("", "", {}),
        ("   ", "", {}),
        ("One line.", "One line.", {}),
        ("Args:\n        first: The first.\n    ", "", {"first": "The first."}),
        (
            "Args:\n        first: The first.\n            More.\n        second: B.\n    ",
            "",
            {"first": "The first.\nMore.", "second": "B."},
        ),
        (
            "\n    Args:\n        first: The first.\n    Returns:\n        Something.\n    ",
            "",
            {"first": "The first."},
        ),
        ("\nFormats:\n\n    - a\n    - b", "Formats:\n\n    - a\n    - b", {}),
        (
            "Do it.\n\nIt says: yes.\n\n:param first: The first.\n\nTrailing text.",
            "Do it.\n\nIt says: yes.",
            {"first": "The first."},
        ),
        (
            "Do it.\n\nParameters\n----------\nfirst, second : int\n    Both.",
            "Do it.",
            {"first": "Both.", "second": "Both."},
        ),
        ("Do it.\n\nParameters\n----------\nfirst : a graph", "Do it.", {"first": "a graph"}),
        ("Do it.\n\nArgs:\n    nonsense without a mark\n", "Do it.", {}),
    ],
)
def test_odd_forms(text, description, parameters):
    """One-liners, sections first, fields with text after them, nothing at all, and what no parser can read."""
    doc = read_docstring(text, ("first", "second"))
    assert (doc.description, dict(doc.parameters)) == (description, parameters)


def test_the_style_that_documents_the_parameters_wins():
    """A text may look like two styles; the names of the signature decide."""
    text = "Do it.\n\nArgs:\n    other: Not ours.\n\n:param first: The first."
    assert read_docstring(text, ("first",)).parameters["first"] == "The first."
    assert read_docstring(text, ("other",)).parameters["other"] == "Not ours."


def test_a_method_without_docstring_has_that_of_its_base():
    """What ``help()`` shows is what a model reads."""
    made = tool(SubDesk().close)
    assert made.description == "Close a ticket."
    assert made.input_schema["properties"]["ticket"]["description"] == "Its number."


def described(docstring: str):
    def f(x: int = 1) -> str:
        return ""

    f.__doc__ = docstring
    return tool(f)


NOTE = "Call login first."


@pytest.mark.parametrize(
    "section",
    [
        *(f"{title}:\n    {NOTE}" for title in ("Note", "Warning", "Example", "Examples", "Returns", "Raises", "Usage", "Tip")),
        *(f"{title}\n{'-' * len(title)}\n{NOTE}" for title in ("Notes", "Warnings", "Examples", "Returns", "Raises")),
        f".. note:: {NOTE}", f".. warning::\n    {NOTE}", f":returns: {NOTE}", f":raises KeyError: {NOTE}",
        f"@return: {NOTE}", f"@note: {NOTE}", f"note:\n    {NOTE}", f"Returns: {NOTE}",
    ],
)  # fmt: skip
def test_what_is_written_for_the_caller_reaches_the_model(section):
    """Before the parameters and after them."""
    for text in (f"Look it up.\n\n{section}", f"Look it up.\n\n{section}\n\n    More.\n"):
        made = described(text)
        assert made.description.startswith("Look it up.\n\n")
        assert made.description.count(NOTE) == 1
        assert made.findings == ()
    made = described(f"Look it up.\n\nArgs:\n    x: It.\n\n{section}\n")
    assert made.input_schema["properties"]["x"]["description"] == "It."


@pytest.mark.parametrize(
    "section",
    [
        "Todo:\n    Write it.",
        "See Also:\n    g",
        "Algorithm\n---------\nSlow.",
        ".. todo:: Write it.",
    ],
)
def test_a_section_that_is_left_out_is_a_finding(section):
    """What is written for maintainers does not reach a model, and that is said."""
    made = described(f"Look it up.\n\n{section}\n")
    assert made.description == "Look it up."
    assert [finding.rule for finding in made.findings] == ["section_left_out"]


def test_titles_in_lower_case():
    """As ollama's examples have them."""
    doc = read_docstring("Add.\n\nargs:\n    a: The first.\n\nreturns:\n    The sum.\n", ("a",))
    assert (doc.description, doc.parameters, doc.returns) == (
        "Add.",
        {"a": "The first."},
        "The sum.",
    )
    assert (
        read_docstring("Add.\n\nnotes: are no section.").description
        == "Add.\n\nnotes: are no section."
    )


def test_choices_in_a_description():
    """Hugging Face's form is an enum: sent, validated, and no longer in the text."""

    def f(unit: str, other: Optional[str] = None, number: int = 1, free=None, odd: str = ""):
        """Do.

        Args:
            unit: The unit (choices: ["celsius", "fahrenheit"])
            other: Another one. (Choices: ["a"])
            number: A number (choices: [1, 2])
            free: Anything (choices: ["x", 5])
            odd: No JSON (choices: [a, b])
        """
        return unit

    made = tool(f)
    fields = made.input_schema["properties"]
    assert (fields["unit"]["enum"], fields["unit"]["description"]) == (
        ["celsius", "fahrenheit"],
        "The unit",
    )
    assert fields["number"]["enum"] == [1, 2]
    assert fields["free"]["enum"] == ["x", 5]
    assert fields["odd"] == {
        "type": "string",
        "description": "No JSON (choices: [a, b])",
        "default": "",
    }
    assert made.call({"unit": "celsius"}) == "celsius"
    with pytest.raises(CallError, match='unit: expected one of "celsius", "fahrenheit"'):
        made.call({"unit": "kelvin"})


class Parcel(BaseModel):
    """A parcel."""

    weight: float
    """In kilograms,
    with its box."""
    to: str = Field("", alias="To")
    "Where it goes."
    size: int = Field(1, description="Set by the field.")
    """Not this."""


class Express(Parcel):
    by: int = 1
    """The hour."""


@dataclasses.dataclass
class Stamp:
    value: int
    """In cents."""


class Paper(TypedDict):
    kind: str
    """A4, or letter."""


def test_a_string_under_a_field_describes_it():
    """In models and those that inherit, dataclasses and TypedDicts, as far as their source can be read."""

    class Local(BaseModel):
        a: int
        """Local too."""

    def f(parcel: Parcel, express: Express, stamp: Stamp, paper: Paper, local: Local): ...

    f.__annotations__["local"] = Local
    definitions = tool(f).input_schema["$defs"]
    said = {
        name: {key: property_.get("description") for key, property_ in node["properties"].items()}
        for name, node in definitions.items()
    }
    parcel = {
        "weight": "In kilograms,\nwith its box.",
        "To": "Where it goes.",
        "size": "Set by the field.",
    }
    assert said["Parcel"] == parcel
    assert said["Express"] == {**parcel, "by": "The hour."}
    assert (said["Stamp"], said["Paper"]) == ({"value": "In cents."}, {"kind": "A4, or letter."})
    assert said["Local"] == {"a": "Local too."}
