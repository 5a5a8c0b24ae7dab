"""Writes what docs/reference says of each public name: its signature and its docstring, between two marks.

``python tests/reference.py`` writes the pages and their index; tests/unit/test_reference.py checks that they are current.
The examples between the marked parts are written by hand.
"""

import ast
import copy
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from house import TREES

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "reference.md"
SUBJECTS = (
    "tools", "sets", "calls", "outputs", "conversations", "text", "errors", "ledger", "mcp", "openapi", "bridges", "testing", "evals", "trace", "contract",
)  # fmt: skip
PAGES = [ROOT / "docs" / "reference" / f"{subject}.md" for subject in SUBJECTS]
BEGIN, END = "<!-- made: {} -->", "<!-- end -->"
_PART = re.compile(r"<!-- made: (\S+) -->\n.*?<!-- end -->", re.DOTALL)
# What needs a framework is read from the source.
_UNLOADED = (
    "toolshape.bridges.langchain",
    "toolshape.bridges.openai_agents",
    "toolshape.bridges.pydantic_ai",
)
_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Attributes):\s*$")
_ITEM = re.compile(r"    (\*{0,2}[\w.]+):\s+(.*)")
# Defaults that are named in the code and are empty.
_DEFAULTS = {"NOTHING_INJECTED": "{}", "MappingProxyType({})": "{}"}


def _unparsed(node: ast.AST) -> str:
    """Return the source of a node, the same on every Python: 3.10 writes a space after a bare ``lambda``."""
    return ast.unparse(node).replace("lambda :", "lambda:")


def names(page: Path) -> list[str]:
    """The public names that a page describes, in its order."""
    return _PART.findall(page.read_text(encoding="utf-8"))


def current(page: Path) -> str:
    """The text of a page, with each marked part as the code is now."""
    return _PART.sub(lambda found: part(found[1]), page.read_text(encoding="utf-8"))


def index() -> str:
    """The text of the index: each page with its names and their first sentences."""
    lines = [BEGIN.format("index")]
    for page in PAGES:
        heading = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines += ["", f"## [{heading}](reference/{page.name})", "", "| name | |", "|---|---|"]
        for name in names(page):
            anchor = name.rpartition(".")[2].lower()
            lines.append(
                f"| [`{shown(name)}`](reference/{page.name}#{anchor}) | {_first_sentence(name)} |"
            )
    made = "\n".join([*lines, "", END])
    return _PART.sub(lambda _: made, INDEX.read_text(encoding="utf-8"))


def found(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    if module in _UNLOADED:
        return next(
            node
            for node in TREES[module].body
            if isinstance(node, ast.FunctionDef) and node.name == attribute
        )
    return getattr(importlib.import_module(module), attribute)


def shown(name: str) -> str:
    """The name as a program writes it: what ``toolshape`` itself holds is imported from there."""
    return name.removeprefix("toolshape.")


def part(name: str) -> str:
    """What a page says of one name."""
    thing = found(name)
    module, _, attribute = name.rpartition(".")
    lines = [BEGIN.format(name), f"## {attribute}", "", f"`from {module} import {attribute}`", ""]
    lines += _of_class(thing) if isinstance(thing, type) else _of_function(thing, name)
    return "\n".join([*lines, END])


def _of_function(thing: Any, name: str) -> list[str]:
    if isinstance(thing, ast.FunctionDef):
        return [*_code(signature(thing)), *rendered(ast.get_docstring(thing) or ""), ""]
    if not inspect.isfunction(inspect.unwrap(thing)):
        return [*rendered(_data_doc(name)), ""]
    return [
        *_code(signature(_node(thing), name.rpartition(".")[2])),
        *rendered(inspect.getdoc(thing) or ""),
        "",
    ]


def _data_doc(name: str) -> str:
    """What the source says beneath the assignment of a public name that is neither a class nor a function."""
    module, _, attribute = name.rpartition(".")
    for tree in (tree for path, tree in TREES.items() if path.startswith(module)):
        for statement, after in itertools.pairwise(tree.body):
            targets = (
                [statement.target]
                if isinstance(statement, ast.AnnAssign)
                else getattr(statement, "targets", [])
            )
            if [_unparsed(target) for target in targets] == [attribute] and isinstance(
                after, ast.Expr
            ):
                return inspect.cleandoc(ast.literal_eval(after.value))
    return ""


def _of_class(cls: type) -> list[str]:
    node = _node(cls)
    fields = [(line, name) for name, line in _fields(cls)]
    made = _constructor(cls)
    lines = [*_code(made), *rendered(inspect.getdoc(cls) or ""), ""]
    if fields:
        lines += ["**Attributes**", "", *(f"- `{line}`" for line, _ in fields), ""]
    for member in _members(cls, node):
        is_property = any("property" in _unparsed(mark) for mark in member.decorator_list)
        text = rendered(_doc(cls, member.name))
        head = (
            f"{member.name}: {_unparsed(member.returns)}"
            if is_property and member.returns
            else signature(member)
        )
        lines += [f"### {cls.__name__}.{member.name}", "", *_code(head), *text, ""]
    return lines


def _constructor(cls: type) -> str:
    made = [
        item
        for item in _node(cls).body
        if isinstance(item, ast.FunctionDef) and item.name == "__init__"
    ]
    return (
        signature(made[-1], f"class {cls.__name__}").removesuffix(" -> None")
        if made
        else f"class {cls.__name__}"
    )


def _doc(cls: type, name: str) -> str:
    member = inspect.getattr_static(cls, name)
    return inspect.getdoc(getattr(member, "__func__", member)) or ""


def _members(cls: type, node: ast.ClassDef) -> Iterator[Any]:
    """The public methods and properties, of the class and of bases of ours, once each; not setters and overloads."""
    told: set[str] = set()
    ours = [
        base
        for base in cls.__mro__[1:]
        if base.__module__.startswith("toolshape") and base is not cls
    ]
    for holder in [node, *map(_node, ours)]:
        for member in holder.body:
            if not isinstance(
                member, (ast.FunctionDef, ast.AsyncFunctionDef)
            ) or member.name.startswith("_"):
                continue
            marks = [_unparsed(mark) for mark in member.decorator_list]
            if member.name in told or any(
                mark == "overload" or mark.endswith(".setter") for mark in marks
            ):
                continue
            told.add(member.name)
            if inspect.getattr_static(cls, member.name).__doc__:
                yield member


def _fields(cls: type) -> Iterator[tuple[str, str]]:
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("toolshape"):
            for statement in _node(base).body:
                target = getattr(statement, "target", None)
                if (
                    isinstance(statement, ast.AnnAssign)
                    and isinstance(target, ast.Name)
                    and target.id[0] != "_"
                ):
                    yield (
                        target.id,
                        _short(_unparsed(statement).replace("field(default_factory=", "(")),
                    )


def _node(thing: Any) -> Any:
    """The definition in the source. Classes name their public module, where ``inspect`` does not find them."""
    if isinstance(thing, type):
        for module, tree in TREES.items():
            for node in tree.body:
                if (
                    isinstance(node, ast.ClassDef)
                    and node.name == thing.__name__
                    and _is_of(thing, module)
                ):
                    return node
        raise AssertionError(f"no module defines {thing}")
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing) if callable(thing) else thing))
    return ast.parse(source).body[0]


def _is_of(thing: type, module: str) -> bool:
    """Whether a module defines this class, and not another of the same name."""
    return getattr(importlib.import_module(module), thing.__name__, None) is thing


def signature(node: Any, name: str = "") -> str:
    """A signature as the source has it, without ``self``, one parameter a line where it is long."""
    arguments = copy.deepcopy(node.args)  # trees are shared
    if arguments.posonlyargs and arguments.posonlyargs[0].arg in ("self", "cls"):
        arguments.posonlyargs = arguments.posonlyargs[1:]
    elif arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    start = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    if name.startswith("class "):
        start = ""
    returns = "" if node.returns is None else f" -> {_short(_unparsed(node.returns))}"
    whole = f"{start}{name or node.name}({_short(_unparsed(arguments))}){returns}"
    if len(whole) <= 100:
        return whole
    parts = _split(_short(_unparsed(arguments)))
    return (
        f"{start}{name or node.name}(\n"
        + "".join(f"    {part},\n" for part in parts)
        + f"){returns}"
    )


def _short(text: str) -> str:
    for long, short in _DEFAULTS.items():
        text = text.replace(long, short)
    return re.sub(r"(?<!=)'((?:[A-Z]\w*|None)(?:[\[\].|, \w']*))'", lambda match: match[1], text)


def _split(text: str) -> list[str]:
    """The parameters of a signature: its text cut at the commas outside brackets and strings."""
    parts, depth, begun, quote = [], 0, 0, ""
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[begun:at].strip())
            begun = at + 1
    return [*parts, text[begun:].strip()]


def rendered(doc: str) -> list[str]:
    """A docstring in Google's form as Markdown."""
    lines: list[str] = []
    is_listed = False
    for line in re.sub(r"``(.+?)``", r"`\1`", doc).splitlines():
        if section := _SECTION.match(line):
            lines += [f"**{'Arguments' if section[1] == 'Args' else section[1]}**", ""]
            is_listed = True
        elif is_listed and (item := _ITEM.match(line)) and not line.startswith("     "):
            lines.append(f"- `{item[1]}`: {item[2]}")
        elif is_listed and line.startswith("    "):
            lines.append(line[4:] if line.startswith("        ") else line.strip())
        else:
            is_listed = is_listed and not line
            lines.append(line)
    return [
        re.sub(r"^    (?=\S)", "  ", line) if line.startswith("    ") else line for line in lines
    ]


def _code(text: str) -> list[str]:
    return ["```py", text, "```", ""]  # tests run the blocks that say ``python``


def _first_sentence(name: str) -> str:
    thing = found(name)
    if isinstance(thing, ast.FunctionDef):
        whole = ast.get_docstring(thing) or ""
    else:
        is_code = isinstance(thing, type) or inspect.isfunction(inspect.unwrap(thing))
        whole = inspect.getdoc(thing) or "" if is_code else _data_doc(name)
    doc = re.sub(r"``(.+?)``", r"`\1`", " ".join(whole.partition("\n\n")[0].split()))
    return re.split(r"(?<=\w[.`)])\s(?=[A-Z`])", doc)[0].rstrip(":").replace("|", "\\|")


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(current(path), encoding="utf-8")
    INDEX.write_text(index(), encoding="utf-8")
