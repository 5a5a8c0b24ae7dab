"""Reads the description of a function and of its parameters from a docstring. The only user of docstring-parser.

Patterns are compiled at first use: most programs that import this package need few of them or none.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from docstring_parser import Docstring, DocstringStyle, ParseError, epydoc, rest
from docstring_parser.google import GoogleParser, Section, SectionType
from docstring_parser.numpydoc import NumpydocParser
from docstring_parser.numpydoc import Section as NumpySection

__all__ = ["Doc", "read_docstring"]


class Doc(NamedTuple):
    """What a docstring says: ``description`` is summary and body alone, ``parameters`` maps a name to its text."""

    description: str = ""
    parameters: Mapping[str, str] = {}
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
_TITLES = "|".join((*_PARAMETER_TITLES, "Attributes", *_RESULT_TITLES, *_OTHER_TITLES))
_GOOGLE_TITLE = rf"(?m)^({_TITLES}):[ \t]*$"
# What stands between a name and its colon is a type, which we do not need and which may hold colons of its own; a name
# may be a list item, or in backticks.
_GOOGLE_TYPE = r"(?m)^([ \t]+)(?:[-*+] )?`{0,2}(\*{0,2}\w+)`{0,2}[ \t]*(?:\((?:[^()\n]|\([^()\n]*\))*\))?[ \t]*:(?=\s)"
_INLINE_SECTION = r"(?m)^(Returns?|Yields?|Raises?):[ \t]+(?=\S)"
_STRAY_LINE = r"(?m)^([ \t]+)([^:\n]+)$"
_NUMPY_TITLE = r"(?m)^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$"
_REST_FIELD = r"(?m)^:[a-zA-Z]+( [^:\n]+)?:(?!`)"
_REST_ROLE = r"(?m)^(?=:[a-zA-Z:]+:`)"
_REST_TYPED = r"(?m)^:(param|parameter|arg|argument|key|keyword) [^:\n]+ (\*{0,2}\w+):"
_JOINER = "\u2060"  # before a role that opens a line, so that it is not taken for a field; taken out again
_EPYDOC_FIELD = r"(?m)^@[a-zA-Z]+( [^:\n]+)?:"
_REST_DIRECTIVE = r"(?m)^\.\. [\w-]+::.*(?:\n(?:[ \t]+\S.*|[ \t]*$))*"


def read_docstring(text: str | None, names: Collection[str] = ()) -> Doc:
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
    text = _indent_under_leading_title(re.sub(_INLINE_SECTION, r"\1:\n    ", text))
    docs = [doc for looks_like, parse in _STYLES if re.search(looks_like, text) and (doc := _attempt(parse, text))]
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
        description = param.description or (parsed.style is DocstringStyle.NUMPYDOC and param.type_name) or ""
        for name in param.arg_name.split(","):
            if description.strip():
                parameters[name.strip().lstrip("*\\")] = description.strip()
    return Doc(
        description=re.sub(_REST_DIRECTIVE, "", parsed.description or "").replace(_JOINER, "").strip(),
        parameters=parameters,
        returns=((parsed.returns and parsed.returns.description) or "").strip(),
    )


@functools.cache
def _google_parser() -> GoogleParser:
    sections = [
        *(Section(title, "param", SectionType.MULTIPLE) for title in _PARAMETER_TITLES),
        Section("Attributes", "attribute", SectionType.MULTIPLE),
        *(Section(title, "returns", SectionType.SINGULAR_OR_MULTIPLE) for title in _RESULT_TITLES),
        *(Section(title, "examples", SectionType.SINGULAR) for title in _OTHER_TITLES),
    ]
    return GoogleParser(sections)


def _google(text: str) -> Docstring:
    first = re.search(_GOOGLE_TITLE, text)
    start = first.end() if first else 0
    body = re.sub(_GOOGLE_TYPE, r"\1\2:", text[start:])
    try:
        return _google_parser().parse(text[:start] + body)
    except ParseError:  # a line without a colon where an entry should begin: it goes on with the one before
        return _google_parser().parse(text[:start] + re.sub(_STRAY_LINE, r"\1    \2", body))


def _numpy(text: str) -> Docstring:
    parser = NumpydocParser()
    for title in set(re.findall(_NUMPY_TITLE, text)) - parser.sections.keys():
        parser.add_section(NumpySection(title, title.lower()))
    return parser.parse(text)


def _rest(text: str) -> Docstring:
    text = re.sub(_REST_TYPED, r":\1 \2:", re.sub(_REST_ROLE, _JOINER, text))
    return rest.parse(_fields_only(text, _REST_FIELD))


def _epydoc(text: str) -> Docstring:
    return epydoc.parse(_fields_only(text, _EPYDOC_FIELD))


_STYLES: tuple[tuple[str, Callable[[str], Docstring]], ...] = (
    (_GOOGLE_TITLE, _google),
    (_NUMPY_TITLE, _numpy),
    (_REST_FIELD, _rest),
    (_EPYDOC_FIELD, _epydoc),
)


def _fields_only(text: str, a_field: str) -> str:
    """Cut paragraphs that follow a field list: docstring-parser would give them to the last field."""
    kept: list[str] = []
    in_fields, after_blank = False, False
    for line in text.split("\n"):
        if re.match(a_field, line):
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
    starts = [found.start() for pattern in patterns if (found := re.search(pattern, text))]
    return re.sub(_REST_DIRECTIVE, "", text[: min(starts, default=len(text))]).strip()


def _indent_under_leading_title(text: str) -> str:
    """Give a section that opens the docstring its indentation back: dedenting takes it, the title being line one."""
    first, newline, rest_of_text = text.partition("\n")
    if not newline or not re.match(_GOOGLE_TITLE, first) or rest_of_text[:1].isspace():
        return text
    lines = rest_of_text.split("\n")
    return "\n".join([first, *(line if re.match(_GOOGLE_TITLE, line) else "    " + line for line in lines)])
