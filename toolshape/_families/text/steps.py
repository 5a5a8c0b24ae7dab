"""The parts of a text format: what a call looks like, step by step, as data that the scanner and the grammars read."""

from typing import NamedTuple, TypeAlias


class Mark(NamedTuple):
    """A text that must follow.

    ``or_before``: if the text is missing, one of these texts follows instead, and is not consumed. Models forget the end
    of a call before the end of all calls.
    """

    text: str
    or_before: tuple[str, ...] = ()


class Blank(NamedTuple):
    """White space, or none."""


class TextUntil(NamedTuple):
    """Text up to the first of some marks, which is consumed; the text is kept as a field.

    ``keeps_cut``: if the text ends before a mark, the field holds what has come.
    ``only_before``: a mark counts only if one of these texts follows it, white space aside, or nothing does. A value
    that quotes its own end mark is read rightly that way. ``excludes`` are characters that the text cannot hold: where
    one comes, this is no call. ``leaves``: marks among ``marks`` that are not consumed, and count whatever follows.
    """

    marks: tuple[str, ...]
    field: str
    only_before: tuple[str, ...] = ()
    excludes: str = ""
    leaves: tuple[str, ...] = ()
    keeps_cut: bool = False


class JsonValue(NamedTuple):
    """A JSON object or array, kept as text in a field.

    ``ends``: marks that end it where its brackets do not close. The model left a bracket out, and the call is answered
    as malformed, where reading on would take the rest of the text for arguments.
    """

    field: str
    ends: tuple[str, ...] = ()


class Braces(NamedTuple):
    """An object in braces whose strings stand between two of a mark, as ``{city:<|"|>Rome<|"|>,days:2}``, kept as text."""

    field: str
    quote: str


class PythonCall(NamedTuple):
    """A Python call with literal arguments, as ``f(a=1)``, kept as text in a field."""

    field: str


class PythonCalls(NamedTuple):
    """A list of Python calls with literal arguments, as ``[f(a=1), g()]``, kept as text in a field."""

    field: str


class Optional(NamedTuple):
    """Steps that may follow; the first of them is a mark."""

    steps: "tuple[Step, ...]"


class Repeated(NamedTuple):
    """Steps that may follow any number of times; the first of them is a mark, a JSON object or a Python call."""

    steps: "tuple[Step, ...]"


class Choice(NamedTuple):
    """Different steps by the next character; the branch of ``""`` is for any other character."""

    branches: "tuple[tuple[str, tuple[Step, ...]], ...]"


Step: TypeAlias = (
    Mark | Blank | TextUntil | JsonValue | Braces | PythonCall | PythonCalls | Optional | Repeated | Choice
)


class Layout(NamedTuple):
    """How calls are written: the text around all, between two, and around one.

    In ``call``, ``{name}``, ``{id}``, ``{number}`` (from 0), ``{ordinal}`` (from 1) and ``{arguments}`` are the parts of a call, and
    ``{parameters}`` is the text of its parameters. ``parameter`` is the text of one parameter, with ``{key}``, ``{value}``,
    ``{is_text}`` (``true`` if the value is a string) and ``{kind}`` (its JSON type). ``between_parameters`` separates two.
    """

    call: str
    before: str = ""
    between: str = ""
    after: str = ""
    parameter: str = ""
    between_parameters: str = ""
