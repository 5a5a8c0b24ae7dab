"""``TextFormat``: how the models of one family write tool calls as text."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._families.text.steps import Layout, Step

Steps: TypeAlias = tuple[Step, ...]
Fields: TypeAlias = list[tuple[str, str]]
"""The fields that the steps of a call recorded, in order: pairs of a field's name and its text."""


class TextCall(NamedTuple):
    """A call in a model's text; ``arguments`` is an object, or the string that
    the model wrote in place of one.
    """

    name: str
    arguments: Any
    id: str = ""
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How the models of one family write tool calls as text.

    Args:
        name: The name, as in ``bind("text:hermes")``.
        models: Patterns for the Hugging Face names of the models that write this format.
        evidence: The sources that define the format, and the date when they were read.
        openings: The marks that begin a call, each with the steps after the mark.
        bare: The beginnings of calls without a mark, each with the steps that read the call from
            its beginning. The scanner reads such calls only at the start of the text.
        quiet: Marks that are neither part of a call nor part of the text; the scanner drops them.
        reasoning: The pairs of marks around reasoning; the scanner reads no calls in reasoning.
        layout: How calls are written.
        is_keyed_by_name: Whether a call is an object with one key: the key is the tool's name, and
            its value holds the arguments.
        is_untyped: Whether arguments are strings without types; if so, the tool's schema defines
            their types.
        quote: The mark that comes before and after each string, if arguments are written in braces.
        has_entities: Whether names and keys are written as attributes, with the entities ``&amp;``
            and ``&quot;``.
        wrappers: Names of parameters in which models put all arguments, although the tool has no
            such parameter.
        doubles_names: Whether models write ``pay.pay`` for the tool ``pay``.
        tag_mark: The mark before each tag, if arguments are written as nested elements.
        has_line_ends: Whether the chat template puts one line end on each side of an untyped
            argument.
        name_pattern: A pattern for the text that names a call; its group ``name`` is the tool's
            name.
        id_form: If the model names a call by its id, the template of this id, such as
            ``functions.{name}:{number}``; otherwise empty.
        declared: Pairs of a string in a value's opening tag and the kind that this string declares:
            ``"text"`` or ``"json"``.
        xml_style: xgrammar's name for the style of parameters in tags; empty if xgrammar has no
            style for the format.
        names: The pattern for tool names that can be written in the format.
        needs_ids: Whether the chat template needs an id for each call, even if the model wrote no
            id.
        begins_in_reasoning: Whether the chat template writes the opening mark of the reasoning into
            the prompt. The model's text then lacks the mark, and the caller must put it before the
            text.
    """

    name: str
    models: tuple[str, ...]
    evidence: str
    openings: tuple[tuple[str, Steps], ...] = ()
    bare: tuple[tuple[str, Steps], ...] = ()
    quiet: tuple[str, ...] = ()
    reasoning: tuple[tuple[str, str], ...] = ()
    layout: Layout
    is_keyed_by_name: bool = False
    is_untyped: bool = False
    quote: str = ""
    has_entities: bool = False
    wrappers: tuple[str, ...] = ()
    doubles_names: bool = False
    tag_mark: str = ""
    has_line_ends: bool = False
    name_pattern: str = ""
    id_form: str = ""
    declared: tuple[tuple[str, Literal["text", "json"]], ...] = ()
    xml_style: str = ""
    names: str = r"[a-zA-Z0-9_-]+"
    needs_ids: bool = False
    begins_in_reasoning: bool = False

    @property
    def is_python(self) -> bool:
        """Whether arguments are Python literals."""
        return bool(self.layout.parameter) and not self.is_untyped and not self.quote

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that begin a call."""
        return tuple(mark for mark, _ in self.openings)
