"""Docstring text in, ``Doc`` out. The only user of docstring-parser."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from docstring_parser import Docstring, DocstringStyle, ParseError, epydoc, rest
from docstring_parser.google import GoogleParser, Section, SectionType
from docstring_parser.numpydoc import NumpydocParser
from docstring_parser.numpydoc import Section as NumpySection

__all__ = ["Doc", "read"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Doc:
    """What a docstring says: ``description`` is summary and body alone, ``parameters`` maps a name to its text."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""


# The section titles of sphinx.ext.napoleon (read 2026-11-20), which docstring-parser knows only in part. A title that
# it does not know would stay in the text that the model reads.
_PARAMETER_TITLES = (
    "Args", "Arguments", "Parameters", "Params", "Keyword Args", "Keyword Arguments", "Other Parameters",
)  # fmt: skip
_RESULT_TITLES = ("Return", "Returns", "Yield", "Yields")
_OTHER_TITLES = (
    "Attention", "Caution", "Danger", "Error", "Example", "Examples", "Except", "Exceptions", "Hint", "Important",
    "Methods", "Note", "Notes", "Raise", "Raises", "Receive", "Receives", "References", "See Also", "See also", "Tip",
    "Todo", "Usage", "Warn", "Warning", "Warnings", "Warns",
)  # fmt: skip
_GOOGLE = GoogleParser(
    [
        *(Section(title, "param", SectionType.MULTIPLE) for title in _PARAMETER_TITLES),
        Section("Attributes", "attribute", SectionType.MULTIPLE),
        *(Section(title, "returns", SectionType.SINGULAR_OR_MULTIPLE) for title in _RESULT_TITLES),
        *(Section(title, "examples", SectionType.SINGULAR) for title in _OTHER_TITLES),
    ]
)
_TITLES = "|".join((*_PARAMETER_TITLES, "Attributes", *_RESULT_TITLES, *_OTHER_TITLES))
_GOOGLE_TITLE = re.compile(rf"^({_TITLES}):[ \t]*$", re.MULTILINE)
# What stands between a name and its colon is a type, which we do not need and which may hold colons of its own; a name
# may be a list item, or in backticks.
_GOOGLE_TYPE = re.compile(
    r"^([ \t]+)(?:[-*+] )?`{0,2}(\*{0,2}\w+)`{0,2}[ \t]*(?:\((?:[^()\n]|\([^()\n]*\))*\))?[ \t]*:(?=\s)", re.MULTILINE
)
_INLINE_SECTION = re.compile(r"^(Returns?|Yields?|Raises?):[ \t]+(?=\S)", re.MULTILINE)
_STRAY_LINE = re.compile(r"^([ \t]+)([^:\n]+)$", re.MULTILINE)
_NUMPY_TITLE = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$", re.MULTILINE)
_REST_FIELD = re.compile(r"^:[a-zA-Z]+( [^:\n]+)?:(?!`)", re.MULTILINE)
_REST_ROLE = re.compile(r"^(?=:[a-zA-Z:]+:`)", re.MULTILINE)
_REST_TYPED = re.compile(r"^:(param|parameter|arg|argument|key|keyword) [^:\n]+ (\*{0,2}\w+):", re.MULTILINE)
_JOINER = "\u2060"  # before a role that opens a line, so that it is not taken for a field; taken out again
_EPYDOC_FIELD = re.compile(r"^@[a-zA-Z]+( [^:\n]+)?:", re.MULTILINE)
_REST_DIRECTIVE = re.compile(r"^\.\. [\w-]+::.*(?:\n(?:[ \t]+\S.*|[ \t]*$))*", re.MULTILINE)


def read(text: str | None, names: Collection[str] = ()) -> Doc:
    """Read a docstring of any of the four styles (Google, NumPy, reST, Epydoc), or of none.

    Args:
        text: The docstring as Python holds it.
        names: The parameters it may document. Where the text fits several styles, the one that documents most of
            them is taken.

    Returns:
        What was found; a text that no style can read becomes the description up to its first section.
    """
    if not text or not text.strip():
        return Doc()
    text = inspect.cleandoc(text.replace("\r\n", "\n"))
    text = _indent_under_leading_title(_INLINE_SECTION.sub(r"\1:\n    ", text))
    docs = [doc for looks_like, parse in _STYLES if looks_like(text) and (doc := _attempt(parse, text))]
    if not docs:
        return Doc(description=_before_sections(text))
    return max(docs, key=lambda doc: (sum(name in doc.parameters for name in names), len(doc.parameters)))


def _attempt(parse: Callable[[str], Docstring], text: str) -> Doc | None:
    try:
        parsed = parse("\n" + text)  # they dedent again, and would take the first line for an unindented one
    except (ParseError, ValueError, IndexError):  # docstring-parser lets the last two escape on odd texts
        return None
    parameters: dict[str, str] = {}
    for param in parsed.params:
        # NumPy style often says what a parameter is where its type would stand: "G : NetworkX graph".
        said = param.description or (parsed.style is DocstringStyle.NUMPYDOC and param.type_name) or ""
        for name in param.arg_name.split(","):
            if said.strip():
                parameters[name.strip().lstrip("*\\")] = said.strip()
    return Doc(
        description=_REST_DIRECTIVE.sub("", parsed.description or "").replace(_JOINER, "").strip(),
        parameters=parameters,
        returns=((parsed.returns and parsed.returns.description) or "").strip(),
    )


def _google(text: str) -> Docstring:
    first = _GOOGLE_TITLE.search(text)
    start = first.end() if first else 0
    body = _GOOGLE_TYPE.sub(r"\1\2:", text[start:])
    try:
        return _GOOGLE.parse(text[:start] + body)
    except ParseError:  # a line without a colon where an entry should begin: it goes on with the one before
        return _GOOGLE.parse(text[:start] + _STRAY_LINE.sub(r"\1    \2", body))


def _numpy(text: str) -> Docstring:
    parser = NumpydocParser()
    for title in set(_NUMPY_TITLE.findall(text)) - parser.sections.keys():
        parser.add_section(NumpySection(title, title.lower()))
    return parser.parse(text)


def _rest(text: str) -> Docstring:
    text = _REST_TYPED.sub(r":\1 \2:", _REST_ROLE.sub(_JOINER, text))
    return rest.parse(_fields_only(text, _REST_FIELD))


def _epydoc(text: str) -> Docstring:
    return epydoc.parse(_fields_only(text, _EPYDOC_FIELD))


_STYLES: tuple[tuple[Callable[[str], object], Callable[[str], Docstring]], ...] = (
    (_GOOGLE_TITLE.search, _google),
    (_NUMPY_TITLE.search, _numpy),
    (_REST_FIELD.search, _rest),
    (_EPYDOC_FIELD.search, _epydoc),
)


def _fields_only(text: str, a_field: re.Pattern[str]) -> str:
    """Cut paragraphs that follow a field list: docstring-parser would give them to the last field."""
    kept: list[str] = []
    in_fields, after_blank = False, False
    for line in text.split("\n"):
        if a_field.match(line):
            in_fields = True
        elif in_fields and after_blank and line[:1].strip():
            in_fields = False
            kept.append("")
            continue
        after_blank = not line.strip()
        kept.append(line)
    return "\n".join(kept)


def _before_sections(text: str) -> str:
    patterns = (_GOOGLE_TITLE, _NUMPY_TITLE, _REST_FIELD, _EPYDOC_FIELD)
    starts = [found.start() for pattern in patterns if (found := pattern.search(text))]
    return _REST_DIRECTIVE.sub("", text[: min(starts, default=len(text))]).strip()


def _indent_under_leading_title(text: str) -> str:
    """Give a section that opens the docstring its indentation back: dedenting takes it, the title being line one."""
    first, newline, rest_of_text = text.partition("\n")
    if not newline or not _GOOGLE_TITLE.match(first) or rest_of_text[:1].isspace():
        return text
    lines = rest_of_text.split("\n")
    return "\n".join([first, *(line if _GOOGLE_TITLE.match(line) else "    " + line for line in lines)])
