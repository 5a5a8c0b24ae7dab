"""The package as its imports, its syntax and its calls show it: rooms, floors, walks, density.

``python -m tests.house`` prints the measures; ``python -m tests.house --write`` writes the picture and the table of
sessions in CONTRIBUTING.md.
"""

import ast
import functools
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import toolshape

PACKAGE = Path(toolshape.__file__).parent
ROOT = PACKAGE.parent
CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
END = "<!-- until here -->"

# A module imports only from its own room and from lower floors; what it imports inside functions counts too.
FLOORS = (
    ("_lazy", "_records"),
    ("_schema", "messages"),
    ("_families", "_function"),
    ("_validation", "provider", "text"),
    ("_tools",),
    ("_plan", "_history"),
    ("_answers", "ledger"),
    ("_bound",),
    ("_conversation", "_failures", "testing", "trace", "bridges", "otel", "openapi"),
    ("evals", "contract"),
    ("mcp",),
    ("_cli",),
    ("__main__",),
)
# Both ask for the words of open models, which speak OpenAI's form: one import inside a function closes a circle of
# folders, though none of modules. It goes when calls that were left in a text have a reader of their own.
KNOWN_CIRCLE = ("toolshape._families.openai.unparsed", "toolshape._families.text.unparsed")
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS, 1) for room in rooms}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def imports_later(name: str) -> bool:
    """Whether a package imports some of its modules when they are first used."""
    return MODULES[name].name == "__init__.py" and "__getattr__ = import_later(" in texts()[name]


@functools.cache
def texts() -> dict[str, str]:
    """The text of each module."""
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


@functools.cache
def imports(name: str) -> list[tuple[str, bool]]:
    """What a module imports, by its full name, and whether it does so inside a function.

    A module that a package imports later belongs to who writes ``package.module``, and not to the package.
    """
    tree = TREES[name]
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    found: list[tuple[str, bool]] = []
    packages: dict[str, str] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            if node.module == name and imports_later(name):
                continue
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            for alias, item in zip(node.names, full, strict=True):
                packages[alias.asname or alias.name] = item
            names = [item if item in MODULES else str(node.module) for item in full]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(name, id(node) in inner) for name in names]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            item = f"{packages.get(node.value.id)}.{node.attr}"
            found += [(item, id(node) in inner)] if item in MODULES else []
    return found


@functools.cache
def _graph() -> dict[str, frozenset[str]]:
    return {
        name: frozenset(import_ for import_, _ in imports(name) if import_ in MODULES)
        for name in MODULES
    }


def graph() -> dict[str, set[str]]:
    """What each module imports of the package, inside functions too."""
    return {name: set(needs) for name, needs in _graph().items()}


def arrows() -> set[tuple[str, str]]:
    """Which room imports which other room."""
    return {
        (room(name), room(needed))
        for name, needs in _graph().items()
        for needed in needs
        if room(name) and room(needed) and room(name) != room(needed)
    }


def in_a_circle(needs: Mapping[Any, Iterable[Any]]) -> set[Any]:
    """What is left once everything that needs nothing has been taken away, again and again."""
    left = {name: set(needed) for name, needed in needs.items()}
    while leaves := {name for name, needed in left.items() if not needed & left.keys()}:
        left = {name: needed for name, needed in left.items() if name not in leaves}
    return set(left)


def folder_circles() -> set[str]:
    """The entries of a folder, files or folders, that import each other in a circle; the package itself is one."""
    found = set()
    folders = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    for folder in folders:
        depth = folder.count(".") + 1
        needs: dict[str, set[str]] = {}
        for name, needed in _graph().items():
            if not name.startswith(f"{folder}."):
                continue
            entry = ".".join(name.split(".")[: depth + 1])
            below = [x for x in needed if x.startswith(f"{folder}.") and (name, x) != KNOWN_CIRCLE]
            inside = {".".join(x.split(".")[: depth + 1]) for x in below}
            needs.setdefault(entry, set()).update(inside - {entry})
        found |= in_a_circle(needs)
    return found


def longest_chain() -> list[str]:
    """The longest chain of imports, those inside functions included."""

    @functools.cache
    def below(name: str) -> tuple[str, ...]:
        return (name, *max((below(needed) for needed in _graph()[name]), key=len, default=()))

    return list(max(map(below, MODULES), key=len))


def sentences(name: str) -> str:
    """What a room says of itself, on one line."""
    return " ".join((ast.get_docstring(TREES[f"toolshape.{name}"]) or "").split())


def picture() -> str:
    """The floors from the highest to the lowest, and what each room says of itself."""
    lines = ["```text"]
    for number, rooms in reversed(list(enumerate(FLOORS, 1))):
        lines.append(f"{number:2}  {'  '.join(rooms)}")
    lines += ["```", ""]
    for item in FLOOR_OF:
        said = f"- `{item}`: {sentences(item).replace('``', '`')}"
        lines += textwrap.wrap(said, 120, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


def sessions() -> str:
    """A table of nox's sessions, as their docstrings tell them: what each runs, how it is called, how long it takes."""
    lines = ["| command | what it does | minutes on two cores |", "|---|---|---|"]
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.args.args[0].arg != "session":
            continue
        told = re.fullmatch(
            r"(.*)\.\n\n``(nox .*)``: ([0-9.]+) min", ast.get_docstring(function) or ""
        )
        if told is not None:
            does, command, minutes = told.groups()
            lines.append(f"| `{command}` | {does[0].lower()}{does[1:]} | {minutes} |")
        assert told is not None or not function.decorator_list, function.name
    return "\n".join(lines)


PICTURES = {"rooms": picture, "sessions": sessions}


def drawn(page: str, name: str) -> tuple[str, str, str]:
    """CONTRIBUTING.md before a picture, the picture in it, and what follows."""
    before, begin, rest = page.partition(f"<!-- {name}: made by tests/house.py -->")
    inside, end, after = rest.partition(END)
    return before + begin, inside.strip(), end + after


# --- how it reads --------------------------------------------------------------------------------


BRANCHES = (
    ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.BoolOp, ast.comprehension, ast.match_case,
)  # fmt: skip
HARD = 12  # branches of a function that needs a word why
WIDE = 100  # columns
PEERS = (
    "h11",
    "httpcore",
    "starlette",
    "structlog",
    "cattrs",
    "trio",
)  # measured where they are installed


class Reading(NamedTuple):
    """How a tree of code reads.

    ``stacked`` are the statements with two or more conditional expressions; ``conditional`` counts such expressions for
    100 statements; ``wide`` is the share of lines over 100 columns, and ``told`` that of the functions with twelve or
    more branches that have a comment, inside or just above, both in per cent. ``density`` is the number of expressions
    a statement.
    """

    statements: int
    density: float
    stacked: tuple[str, ...]
    conditional: float
    wide: float
    untold: tuple[str, ...]
    told: float


def read(folder: Path) -> Reading:
    """Measure how the Python files of a folder read."""
    statements = expressions = conditionals = lines = wide = hard = 0
    stacked, untold = list[str](), list[str]()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree, place = ast.parse(text), path.relative_to(folder)
        rows = text.splitlines()
        lines += len(rows)
        wide += sum(len(row) > WIDE for row in rows)
        comments = _comments(text)
        for node in ast.walk(tree):
            expressions += isinstance(node, ast.expr)
            if isinstance(node, ast.stmt):
                statements += 1
                own = sum(isinstance(inner, ast.IfExp) for inner in _own_expressions(node))
                conditionals += own
                if own > 1:
                    stacked.append(f"{place}:{node.lineno}")
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if sum(isinstance(inner, BRANCHES) for inner in ast.walk(node)) < HARD:
                    continue
                hard += 1
                if not comments & set(range(node.lineno - 2, (node.end_lineno or node.lineno) + 1)):
                    untold.append(f"{place}:{node.lineno} {node.name}")
    return Reading(
        statements=statements,
        density=round(expressions / max(statements, 1), 1),
        stacked=tuple(stacked),
        conditional=round(100 * conditionals / max(statements, 1), 1),
        wide=round(100 * wide / max(lines, 1), 1),
        untold=tuple(untold),
        told=round(100 * (hard - len(untold)) / max(hard, 1)),
    )


def _comments(text: str) -> set[int]:
    """The lines of comments that say something, and do not only switch a tool off."""
    switches = ("noqa", "type:", "pyright:", "pragma", "fmt:")
    return {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and not token.string.lstrip("# ").startswith(switches)
    }


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without those of statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                yield child
                pending.append(child)


# --- how data walk through it --------------------------------------------------------------------


class Walk(NamedTuple):
    """The calls of our own functions while something runs: how many, in how many modules and rooms.

    ``across`` are the calls from one room into another; ``upward`` those from a lower floor to a higher one.
    """

    calls: int
    modules: int
    rooms: int
    across: int
    upward: int


def walk(run: Any) -> Walk:
    """Run a function, and follow the calls of our own code."""
    calls = across = upward = 0
    modules, rooms = set[str](), set[str]()
    here = str(PACKAGE)

    def module_of(frame: Any) -> str | None:
        file = frame.f_code.co_filename
        return (
            name_of(Path(file))
            if file.startswith(here) and frame.f_code.co_name[0] != "<"
            else None
        )

    def follow(frame: Any, event: str, _: Any) -> None:
        nonlocal calls, across, upward
        if event != "call" or (callee := module_of(frame)) is None:
            return
        calls += 1
        modules.add(callee)
        rooms.add(room(callee))
        outer = frame.f_back
        while outer is not None and (caller := module_of(outer)) is None:
            outer = outer.f_back
        if outer is None or caller is None or room(caller) == room(callee):
            return
        across += 1
        upward += FLOOR_OF[room(callee)] > FLOOR_OF[room(caller)]

    sys.setprofile(follow)
    try:
        run()
    finally:
        sys.setprofile(None)
    return Walk(calls, len(modules), len(rooms), across, upward)


def walks() -> dict[str, Walk]:
    """The walks that the review counted, each warm: real calls of a small app."""
    from pydantic import BaseModel

    from toolshape import Conversation, Output, Registry, tool

    class Invoice(BaseModel):
        """An invoice."""

        total: float

    @tool
    def weather(city: str, days: int = 1) -> str:
        """The weather of a city."""
        return f"{city} {days}"

    def response(name: str, arguments: str) -> dict[str, Any]:
        call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {
            "id": "r1",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        }

    def text(content: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": content}
        return {"id": "r1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    def describe() -> None:
        def find(city: str, days: int = 1) -> str:
            """Find the weather."""
            return city

        Registry([tool(find)]).export("openai")

    plain, coerced = (
        response("weather", '{"city": "Bonn", "days": 2}'),
        response("weather", '{"city": "Bonn", "days": "2"}'),
    )
    tools, beside = Registry([weather]), Registry([weather])
    tools.bind("openai")
    output = Output(Invoice).bind("openai")
    with_answer = beside.bind("openai", output=Output(Invoice))
    chat = Conversation(tools)
    chat.user("How is Bonn?")
    chat.request("openai")
    runs = {
        "@tool, registry, first export": describe,
        "Registry.dispatch with messages": lambda: tools.dispatch(plain).messages,
        "the same, one coercion": lambda: tools.dispatch(coerced).messages,
        "BoundOutput.read": lambda: output.read(text('{"total": 1.5}')),
        "an answer beside tools": lambda: with_answer.dispatch(text('{"total": 1.5}')).output,
        "Conversation.dispatch": lambda: chat.dispatch(plain, provider="openai"),
        "Conversation.request, same provider": lambda: chat.request("openai"),
    }
    found = {}
    for name, run in runs.items():
        run()
        if name.startswith("Conversation"):
            chat.user("And tomorrow?")
            chat.request("openai")
        found[name] = walk(run)
    found['first request("anthropic") after OpenAI'] = walk(lambda: chat.request("anthropic"))
    return found


# What the code was at the commit that made this test; a number that is better replaces its row here.
AT_MOST = {"stacked": 0, "conditional": 3.0, "wide": 0.2, "untold": 0}


def report() -> Iterator[str]:
    """The measures, a line each."""
    circle = in_a_circle(_graph())
    yield f"rooms {len(FLOOR_OF)}, floors {len(FLOORS)}, arrows {len(arrows())}, modules {len(MODULES)}"
    yield f"circles of folders {len(folder_circles())}, of modules {len(circle)}; longest chain {len(longest_chain())}"
    found = read(PACKAGE)
    yield (
        f"statements {found.statements}: {len(found.stacked)} with two or more conditional expressions, "
        f"{found.conditional} conditional expressions for 100; {found.wide} % of lines over {WIDE} columns"
    )
    yield f"functions with {HARD} or more branches: {found.told} % have a reason, {len(found.untold)} have none"
    yield "density: expressions a statement, conditional expressions for 100, % of wide lines, % with a reason"
    yield f"  toolshape: {found.density}, {found.conditional}, {found.wide}, {found.told}"
    for name in PEERS:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            theirs = read(Path(spec.origin).parent)
            yield f"  {name}: {theirs.density}, {theirs.conditional}, {theirs.wide}, {theirs.told}"
    yield "walk: calls, modules, rooms, calls across rooms, upward"
    for name, made in walks().items():
        yield f"  {name}: {', '.join(map(str, made))}"


def main() -> None:
    if "--write" in sys.argv:
        page = CONTRIBUTING.read_text(encoding="utf-8")
        for name, draw in PICTURES.items():
            before, _, after = drawn(page, name)
            page = f"{before}\n\n{draw()}\n\n{after}"
        CONTRIBUTING.write_text(page, encoding="utf-8")
        return
    print("\n".join(report()))


if __name__ == "__main__":
    main()
