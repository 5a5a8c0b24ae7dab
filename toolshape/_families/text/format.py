"""``TextFormat``: how the models of one family write tool calls as text."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._families.text.steps import Layout, Step

Steps: TypeAlias = tuple[Step, ...]
Fields: TypeAlias = list[tuple[str, str]]
"""What the steps of a call kept: names of fields and texts, in the order of the text."""


class TextCall(NamedTuple):
    """A call in a text: ``arguments`` are an object, or the text that the model wrote for one."""

    name: str
    arguments: Any
    id: str = ""
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How the models of one family write tool calls as text.

    Args:
        name: The name, as in ``bind("text:hermes")``.
        models: Patterns of the names of models that write it, as they are called on Hugging Face.
        evidence: Where the format is defined, and when that was read.
        openings: The marks that begin a call, and the steps after each.
        bare: What a call begins with that has no mark and begins the text, and its steps, from there on.
        quiet: Marks that belong to no call and to no text: they are left out.
        reasoning: The pairs of marks around reasoning, in which nothing is a call.
        layout: How calls are written.
        is_keyed_by_name: A call is an object with one key, the name, that holds the arguments.
        is_untyped: The arguments are texts without types: the schema of the tool says what each one is.
        quote: The mark on both sides of a string, where arguments are written in braces.
        has_entities: Names and keys are written as attributes, with ``&amp;`` and ``&quot;``.
        wrappers: Names of a parameter in which models put all arguments, if the tool has no parameter of this name.
        doubles_names: Models write ``pay.pay`` for the tool ``pay``.
        tag_mark: The mark before each tag, where arguments are written as nested elements.
        has_line_ends: The template puts one line end on each side of an untyped argument.
        name_pattern: A pattern of the text that names a call, with the group ``name``.
        id_form: The id of a call, with ``{name}`` and ``{number}``, where the text that names a call is its id, too.
        declared: What the model may write of a value, and whether the value is then a ``"text"`` or ``"json"``.
        xml_style: The style of parameters in tags, by xgrammar's name; empty if it has none for this format.
        names: The pattern of tool names that the format can hold.
        needs_ids: The chat template wants an id of each call, also where the model wrote none.
        begins_in_reasoning: The chat template writes the opening mark of the reasoning into the prompt, so that the
            model's text lacks it; give it with the text.
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
