"""Docstrings: every style and every form users really write; no section reaches the tool's description."""

import pytest

from toolshape import tool
from toolshape.function.docstrings import read_docstring


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
        ("\n    Args:\n        first: The first.\n    Returns:\n        Something.\n    ", "", {"first": "The first."}),
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
