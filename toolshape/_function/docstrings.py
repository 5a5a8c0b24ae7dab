"""Reads the descriptions of a function and its parameters from a docstring.

No other module uses docstring-parser. Patterns are compiled at first use: most programs need few of
them, or none.
"""

import ast
import functools
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docstring_parser import Docstring, DocstringStyle, ParseError, epydoc, rest
from docstring_parser.google import GoogleParser, Section, SectionType
from docstring_parser.numpydoc import NumpydocParser, Section as NumpySection


class Doc(NamedTuple):
    """A parsed docstring.

    ``description`` holds only the summary and the body. ``parameters`` maps the name of a parameter
    to its description. ``sections`` holds the sections written for callers of the function;
    ``left_out`` holds the titles of all other sections.
    """

    description: str = ""
    parameters: Mapping[str, str] = {}
    returns: str = ""
    sections: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def for_caller(self) -> str:
        """The description and the sections written for callers."""
        return "\n\n".join(part for part in (self.description, *self.sections) if part)


# The section titles of sphinx.ext.napoleon (read 2026-11-20); docstring-parser knows only some of
# them. An unknown title would stay in the description that the model reads.
_PARAMETER_TITLES = (
    "Args", "Arguments", "Parameters", "Params", "Keyword Args", "Keyword Arguments",
    "Other Parameters",
)  # fmt: skip
_RESULT_TITLES = ("Return", "Returns", "Yield", "Yields")
_OTHER_TITLES = (
    "Attention", "Caution", "Danger", "Error", "Example", "Examples", "Except", "Exceptions",
    "Hint", "Important",
    "Methods", "Note", "Notes", "Raise", "Raises", "Receive", "Receives", "References", "See Also",
    "See also", "Tip",
    "Todo", "Usage", "Warn", "Warning", "Warnings", "Warns",
)  # fmt: skip
_FOR_CALLER = frozenset({
    "Attention", "Caution", "Danger", "Deprecated", "Error", "Example", "Examples", "Except",
    "Exceptions", "Hint", "Important",
    "Note", "Notes", "Raise", "Raises", "Return", "Returns", "Tip", "Usage", "Warn", "Warning",
    "Warnings", "Warns", "Yield",
    "Yields",
})  # fmt: skip
"""The titles of the sections that a model reads: how to call the function, and what the function
returns or raises. strands and pydantic-ai send these sections too (seen in their test suites,
2026-11-23). The other sections hold notes for maintainers, and links that no model follows.
"""
_LOWER_TITLE = r"(?m)^(args|arguments|parameters|params|returns?|yields?|raises?|notes?|warnings?|examples?):[ \t]*$(?=\n[ \t]+\S)"
_TITLES = "|".join((*_PARAMETER_TITLES, "Attributes", *_RESULT_TITLES, *_OTHER_TITLES))
_GOOGLE_TITLE = rf"(?m)^({_TITLES}):[ \t]*$"
# The text between a name and its colon is a type. We drop the type, because it may contain colons.
# The name may be a list item, or stand in backticks.
_GOOGLE_TYPE = r"(?m)^([ \t]+)(?:[-*+] )?`{0,2}(\*{0,2}\w+)`{0,2}[ \t]*(?:\((?:[^()\n]|\([^()\n]*\))*\))?[ \t]*:(?=\s)"
_INLINE_SECTION = r"(?m)^(Returns?|Yields?|Raises?):[ \t]+(?=\S)"
_STRAY_LINE = r"(?m)^([ \t]+)([^:\n]+)$"
_NUMPY_TITLE = r"(?m)^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$"
_REST_FIELD = r"(?m)^:[a-zA-Z]+( [^:\n]+)?:(?!`)"
_REST_ROLE = r"(?m)^(?=:[a-zA-Z:]+:`)"
_REST_TYPED = r"(?m)^:(param|parameter|arg|argument|key|keyword) [^:\n]+ (\*{0,2}\w+):"
_REST_VARIABLE = r"(?m)^:(?:ivar|cvar|var) "
_JOINER = (
    "\u2060"  # keeps a role that starts a line from being parsed as a field; removed afterwards
)
_EPYDOC_FIELD = r"(?m)^@[a-zA-Z]+( [^:\n]+)?:"
_REST_DIRECTIVE = r"(?m)^\.\. [\w-]+::.*(?:\n(?:[ \t]+\S.*|[ \t]*$))*"


def read_docstring(text: str | None, names: Collection[str] = ()) -> Doc:
    """Parse a docstring in any of the four styles (Google, NumPy,
    reST, Epydoc), or without a style.

    Args:
        text: The docstring as Python stores it.
        names: The names of the function's parameters. If several styles can parse the text, the
            style that documents the most of these parameters wins.

    Returns:
        The parsed docstring. If no style can parse the text, the text before the first section is
        the description.
    """
    if not text or not text.strip():
        return Doc()
    text = inspect.cleandoc(text.replace("\r\n", "\n"))
    text = re.sub(_LOWER_TITLE, lambda match: f"{match[1].capitalize()}:", text)
    text = _indent_under_leading_title(re.sub(_INLINE_SECTION, r"\1:\n    ", text))
    text = _in_googles_form(re.sub(_REST_VARIABLE, ":param ", text), names)
    docs = [
        doc
        for looks_like, parse in _STYLES
        if re.search(looks_like, text) and (doc := _try_parse(parse, text))
    ]
    best_doc = max(
        docs or [Doc(description=_text_before_sections(text))],
        key=lambda doc: (sum(name in doc.parameters for name in names), len(doc.parameters)),
    )
    sections, left_out = _split_sections(text)
    if sections or left_out:
        return best_doc._replace(sections=sections, left_out=left_out)
    return best_doc


_UNDERLINED = rf"(?m)^({'|'.join(_PARAMETER_TITLES)})\n-{{3,}}[ \t]*$(?=\n[ \t]*[-*+]?[ \t]*`{{0,2}}\w+`{{0,2}}(?:[ \t]*\([^\n]*\))?:[ \t]+\S)"


def _in_googles_form(text: str, names: Collection[str]) -> str:
    """Write the entries of parameters that nearly follow Google's style in that
    style; no word of them may be lost.

    Seen in real tools: entries that are not indented, NumPy's title with Google's entries, and
    other signs than a colon after the name.
    """
    if not names or not re.search(rf"(?m)^(?:{'|'.join(_PARAMETER_TITLES)})(?::[ \t]*$|\n-)", text):
        return text
    entry = re.compile(
        rf"([ \t]*)(?:[-*+] )?`{{0,2}}\*{{0,2}}({'|'.join(map(re.escape, names))})`{{0,2}}"
        r"(?:[ \t]*(\([^\n]*?\))?[ \t]*(?:(:)(?=\s|$)|=|[-\u2013\u2014](?=[ \t]))|"
        r"([ \t]{2,}))[ \t]*(.*)"
    )
    # ``indent`` is that of the section's first line: what stands deeper continues an entry,
    # whatever it begins with. Where entries are not indented at all, a line that is no entry
    # continues one, too, and an empty line ends the section.
    lines: list[str] = []
    indent: str | None = None
    in_section = False
    for line in re.sub(_UNDERLINED, r"\1:", text).split("\n"):
        if re.fullmatch(_GOOGLE_TITLE.replace("(?m)", ""), line):
            in_section, indent = line.rstrip(": \t") in _PARAMETER_TITLES, None
        elif in_section and line.strip():
            indent = line[: len(line) - len(line.lstrip())] if indent is None else indent
            match = entry.fullmatch(line)
            if match and match[1] == indent:
                kind = f" {match[3]}" if match[3] else ""
                line = f"{indent or '    '}{match[2]}{kind}: {match[6]}"  # noqa: PLW2901 - in another form
            elif not indent:
                line = f"        {line}"  # noqa: PLW2901 - it continues an entry
        elif in_section:
            in_section = indent != ""
        lines.append(line)
    return "\n".join(lines)


def _split_sections(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sections for callers, as text, and the titles of the other sections."""
    for_caller: list[str] = []
    left_out: list[str] = []
    matches = sorted(
        (match.start(), match) for pattern in _SECTIONS for match in re.finditer(pattern, text)
    )
    for _, match in matches:
        title = _FIELD_TITLES.get(match["title"].lower(), match["title"])
        body = inspect.cleandoc(f"{match['about'] or ''}{match['body']}").strip()
        if title in _FOR_CALLER and body:
            indented = "\n".join(f"    {line}" if line.strip() else "" for line in body.split("\n"))
            for_caller.append(f"{title}:\n{indented}")
        elif title not in _FOR_CALLER and title not in (*_PARAMETER_TITLES, "Attributes"):
            left_out.append(title)
    return tuple(for_caller), tuple(dict.fromkeys(left_out))


def attribute_docstrings(cls: type[Any]) -> dict[str, str]:
    """Return the docstrings under the fields of a class and its bases, if the
    source of these classes can be read.
    """
    texts: dict[str, str] = {}
    typed_dict_bases = [
        base
        for base in getattr(cls, "__orig_bases__", ())
        if isinstance(base, type) and cls.__mro__[1:2] == (dict,)
    ]
    for base in typed_dict_bases:  # the __mro__ of a TypedDict does not list its bases
        texts |= attribute_docstrings(base)
    for base in reversed(cls.__mro__):
        if base.__module__ not in _WITHOUT_FIELDS:
            texts |= _attributes_in(base.__module__).get(base.__qualname__, {})
    return texts


_WITHOUT_FIELDS = frozenset(
    {"builtins", "typing", "typing_extensions", "enum", "pydantic.main", "pydantic.root_model"}
)
_UNDER_A_FIELD = r"(?m)^[ \t]+\w+[ \t]*:[^\n]*(?:\n[^\n]*){0,20}?\n[ \t]+[rRuU]?(?:\"|')"


@functools.lru_cache(maxsize=256)
def _attributes_in(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings under the fields of all classes in a module, by qualified class
    name.
    """
    try:
        source = inspect.getsource(sys.modules[module])
        if re.search(_UNDER_A_FIELD, source):
            tree = ast.parse(source)
        else:
            tree = None
    except (
        KeyError,
        OSError,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        # The module has no Python source file.
        return {}
    if tree is None:
        return {}
    return dict(_attributes_of_classes(tree, ""))


def _attributes_of_classes(node: ast.AST, scope: str) -> Iterator[tuple[str, dict[str, str]]]:
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(child, ast.ClassDef):
            name = f"{scope}{child.name}"
            yield name, _attributes_of(child.body)
            yield from _attributes_of_classes(child, f"{name}.")
        else:
            if is_function:
                inner_scope = f"{scope}{getattr(child, 'name', '')}.<locals>."
            else:
                inner_scope = scope
            yield from _attributes_of_classes(child, inner_scope)


def _attributes_of(body: Sequence[ast.stmt]) -> dict[str, str]:
    texts = {}
    for field, text in itertools.pairwise(body):
        if isinstance(text, ast.Expr):
            value = text.value
        else:
            value = None
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            texts[field.target.id] = inspect.cleandoc(value.value)
    return texts


_INDENTED = r"(?:\n(?:[ \t]+\S.*|[ \t]*))*"
_SECTIONS = (
    rf"(?m)^(?P<title>{_TITLES}):[ \t]*(?P<about>)$(?P<body>{_INDENTED})",
    r"(?m)^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}[ \t]*$(?P<about>)(?P<body>(?:\n(?![A-Z][A-Za-z ]+\n-{3,}[ \t]*$).*)*)",
    rf"(?m)^[:@](?P<title>returns?|raises?|yields?|notes?|warnings?)\b(?P<about>(?: [^:\n]+:)?):?(?P<body>.*{_INDENTED})",
    rf"(?m)^\.\. (?P<title>[\w-]+)::(?P<about>)(?P<body>.*{_INDENTED})",
)
"""Patterns for Google sections, NumPy sections, reST and Epydoc fields, and
reST directives, in this order.
"""
_FIELD_TITLES = {
    **{title.lower(): title for title in sorted(_FOR_CALLER)},
    "return": "Returns",
    "raise": "Raises",
    "yield": "Yields",
    "seealso": "See Also",
}


def _try_parse(parse: Callable[[str], Docstring], text: str) -> Doc | None:
    try:
        # The parsers dedent the text again, and treat its first line as unindented.
        parsed = parse("\n" + text)
    except (
        ParseError,
        ValueError,
        IndexError,
    ):
        # The last two are what docstring-parser raises for odd docstrings.
        return None
    parameters: dict[str, str] = {}
    for param in parsed.params:
        # NumPy-style docstrings often put a description where the type belongs: "G : NetworkX
        # graph".
        description = (
            param.description or (parsed.style is DocstringStyle.NUMPYDOC and param.type_name) or ""
        )
        for name in param.arg_name.split(","):
            if description.strip():
                parameters[name.strip().lstrip("*\\")] = description.strip()
    return Doc(
        description=re.sub(_REST_DIRECTIVE, "", parsed.description or "")
        .replace(_JOINER, "")
        .strip(),
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


def _parse_google(text: str) -> Docstring:
    first_title = re.search(_GOOGLE_TITLE, text)
    start = first_title.end() if first_title else 0
    body = _without_types(text[start:])
    try:
        return _google_parser().parse(text[:start] + body)
    except ParseError:  # a line without a colon is not an entry: it continues the previous entry
        return _google_parser().parse(text[:start] + re.sub(_STRAY_LINE, r"\1    \2", body))


def _without_types(text: str) -> str:
    """Remove the types of entries, but not of what is listed inside an entry:
    there, they stand nowhere else.
    """
    lines, indent = [], ""
    for line in text.split("\n"):
        if not line[:1].isspace():
            indent = ""  # a title; the next line is an entry
        elif not indent and line.strip():
            indent = line[: len(line) - len(line.lstrip())]
        is_entry = line.startswith(indent) and not line[len(indent) : len(indent) + 1].isspace()
        lines.append(re.sub(_GOOGLE_TYPE, r"\1\2:", line) if indent and is_entry else line)
    return "\n".join(lines)


def _parse_numpy(text: str) -> Docstring:
    parser = NumpydocParser()
    for title in set(re.findall(_NUMPY_TITLE, text)) - parser.sections.keys():
        parser.add_section(NumpySection(title, title.lower()))
    return parser.parse(text)


def _parse_rest(text: str) -> Docstring:
    text = re.sub(_REST_TYPED, r":\1 \2:", re.sub(_REST_ROLE, _JOINER, text))
    return rest.parse(_cut_after_fields(text, _REST_FIELD))


def _parse_epydoc(text: str) -> Docstring:
    return epydoc.parse(_cut_after_fields(text, _EPYDOC_FIELD))


_STYLES: tuple[tuple[str, Callable[[str], Docstring]], ...] = (
    (_GOOGLE_TITLE, _parse_google),
    (_NUMPY_TITLE, _parse_numpy),
    (_REST_FIELD, _parse_rest),
    (_EPYDOC_FIELD, _parse_epydoc),
)


def _cut_after_fields(text: str, a_field: str) -> str:
    """Cut paragraphs that follow a field list: docstring-parser would
    append them to the last field.
    """
    kept_lines: list[str] = []
    in_fields, after_blank = False, False
    for line in text.split("\n"):
        if re.match(a_field, line):
            in_fields = True
        elif in_fields and after_blank and line[:1].strip():
            in_fields = False
            kept_lines.append("")
            continue
        after_blank = not line.strip()
        kept_lines.append(line)
    return "\n".join(kept_lines)


def _text_before_sections(text: str) -> str:
    patterns = (_GOOGLE_TITLE, _NUMPY_TITLE, _REST_FIELD, _EPYDOC_FIELD)
    starts = [match.start() for pattern in patterns if (match := re.search(pattern, text))]
    return re.sub(_REST_DIRECTIVE, "", text[: min(starts, default=len(text))]).strip()


def _indent_under_leading_title(text: str) -> str:
    """Indent the body of a section that opens the docstring: ``cleandoc`` removed its
    indentation.
    """
    title_line, newline, rest_of_text = text.partition("\n")
    if not newline or not re.match(_GOOGLE_TITLE, title_line) or rest_of_text[:1].isspace():
        return text
    lines = rest_of_text.split("\n")
    return "\n".join(
        [title_line, *(line if re.match(_GOOGLE_TITLE, line) else "    " + line for line in lines)]
    )
