"""The steps and the layout of a text format as data, which the scanner and the grammars read."""

from typing import NamedTuple, TypeAlias


class Mark(NamedTuple):
    """A string that must come next.

    ``or_before``: if ``text`` is missing, one of these strings must come instead, and the scanner
    does not consume it. This is needed because models leave out a call's end mark if the end mark
    of all calls follows.
    """

    text: str
    or_before: tuple[str, ...] = ()


class Blank(NamedTuple):
    """White space, which may be empty."""


class TextUntil(NamedTuple):
    """Text up to the first of ``marks``.

    The text becomes a field, and the scanner consumes the mark.

    ``keeps_cut``: if the model's text ends before a mark, the field holds the text so far.
    ``only_before``: a mark counts only if one of these strings follows, possibly after white space,
    or if the model's text ends. So a value may contain the mark that ends values. ``excludes``:
    characters that the text cannot contain; if such a character occurs, this is not a call.
    ``leaves``: the marks (a part of ``marks``) that always count, and that the scanner does not
    consume.
    """

    marks: tuple[str, ...]
    field: str
    only_before: tuple[str, ...] = ()
    excludes: str = ""
    leaves: tuple[str, ...] = ()
    keeps_cut: bool = False


class JsonValue(NamedTuple):
    """A JSON object or array, kept as text in a field.

    ``ends``: marks that end the value even if its brackets are still open. If the model left out a
    bracket, toolshape then answers the call as malformed. Without these marks, the rest of the text
    would become part of the arguments. ``begins``: where the value is optional, one of these
    strings must come next.
    """

    field: str
    ends: tuple[str, ...] = ()
    begins: tuple[str, ...] = ("{",)


class Braces(NamedTuple):
    """An object in braces with a mark on both sides of each string, such as
    ``{city:<|"|>Rome<|"|>}``, kept as text.

    Models also write parentheses in place of the outer braces. ``ends``: as for ``JsonValue``.
    """

    field: str
    quote: str
    ends: tuple[str, ...] = ()


class PythonCall(NamedTuple):
    """A Python call with literal arguments, such as ``f(a=1)``, kept as text in a field."""

    field: str


class PythonCalls(NamedTuple):
    """A list of Python calls with literal arguments, such as
    ``[f(a=1), g()]``, kept as text in a field.
    """

    field: str


class Optional(NamedTuple):
    """Steps that may follow once; the first step is a mark, a JSON object or a Python call."""

    steps: "tuple[Step, ...]"


class Repeated(NamedTuple):
    """Steps that may follow any number of times; the first step is a mark,
    a JSON object or a Python call.
    """

    steps: "tuple[Step, ...]"


class Choice(NamedTuple):
    """A branch of steps for each possible next character; the branch ``""``
    applies to all other characters.
    """

    branches: "tuple[tuple[str, tuple[Step, ...]], ...]"


Step: TypeAlias = (
    Mark
    | Blank
    | TextUntil
    | JsonValue
    | Braces
    | PythonCall
    | PythonCalls
    | Optional
    | Repeated
    | Choice
)


class Layout(NamedTuple):
    """How calls are written: the text before all calls, between calls and after all
    calls, and the text of one call.

    In ``call``, ``{name}``, ``{id}``, ``{number}`` (from 0), ``{ordinal}`` (from 1) and
    ``{arguments}`` are the parts of a call, and ``{parameters}`` is the text of its parameters.
    ``parameter`` is the text of one parameter, with ``{key}``, ``{value}``, ``{is_text}`` (``true``
    if the value is a string) and ``{kind}`` (the value's JSON type). ``between_parameters`` is the
    text between two parameters.
    """

    call: str
    before: str = ""
    between: str = ""
    after: str = ""
    parameter: str = ""
    between_parameters: str = ""
