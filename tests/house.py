"""The package as its imports show it: modules, rooms, and the picture in CONTRIBUTING.md.

``python tests/house.py`` writes the picture anew.
"""

import ast
import functools
from pathlib import Path

import toolshape

PACKAGE = Path(toolshape.__file__).parent
ROOT = PACKAGE.parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
BEGIN, END = "<!-- made by tests/house.py -->", "<!-- until here -->"

# A module imports only from rooms that stand before its own, and what it imports inside functions counts too.
ROOMS = (
    "_deprecation", "_html", "_errors", "_parts", "_mcp_results", "_calls", "_results", "_identity", "_context", "messages", "_schema", "_message_json",
    "_wire", "_families", "text", "_history", "_core_schema", "_function", "_validation", "_execution", "_definitions", "_options",
    "_source", "_record", "_tool", "_selection", "_dispatch", "_report", "_answer", "_output_record", "_bound_output", "_output", "_output_beside_tools", "_bound_tools", "_bound", "_store", "_bindings", "_registry", "_open_turn", "_conversation", "_failures",
    "_compatibility", "_targets", "testing", "_rulebook", "evals", "trace", "ledger", "otel", "mcp", "bridges", "contract",
    "_commands", "provider", "__main__",
)  # fmt: skip


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@functools.cache
def imports(name: str) -> list[tuple[str, bool]]:
    """What a module imports, by its full name, and whether it does so inside a function."""
    tree = TREES[name]
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [item if item in MODULES else str(node.module) for item in full]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(name, id(node) in inner) for name in names]
    return found


@functools.cache
def _graph() -> dict[str, frozenset[str]]:
    return {name: frozenset(import_ for import_, _ in imports(name) if import_ in MODULES) for name in MODULES}


def graph() -> dict[str, set[str]]:
    """What each module imports of the package, inside functions too."""
    return {name: set(needs) for name, needs in _graph().items()}


def in_order(names: list[str], needs: dict[str, set[str]]) -> list[str]:
    """Modules after what they import, else by name."""
    left, found = sorted(names), list[str]()
    while left:
        first = next(item for item in left if not needs[item] & set(left))
        left.remove(first)
        found.append(first)
    return found


def picture() -> str:
    """The rooms in the order of import, the modules of each, and the arrows that are not implied by others."""
    needs = graph()
    uses = {item: {room(x) for name in needs if room(name) == item for x in needs[name]} - {item, ""} for item in ROOMS}
    reached: dict[str, set[str]] = {}
    for item in ROOMS:
        reached[item] = uses[item].union(*(reached[other] for other in uses[item]))
    lines = ["```mermaid", "flowchart BT"]
    for item in ROOMS:
        direct = [other for other in uses[item] if not any(other in reached[third] for third in uses[item] - {other})]
        lines += [f"  {item} --> {other}" for other in sorted(direct, key=ROOMS.index)]
    lines += ["```", "", "| room | modules, each after what it imports |", "|---|---|"]
    for item in ROOMS:
        inside = [name for name in in_order([n for n in needs if room(n) == item], needs) if name.count(".") > 1]
        shown = ", ".join(f"`{name.split('.', 2)[2]}`" for name in inside)
        lines.append(f"| `{item}{'/' if inside else '.py'}` | {shown or 'one module'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    page = CONTRIBUTING.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    CONTRIBUTING.write_text(f"{before}{BEGIN}\n\n{picture()}\n\n{END}{after}", encoding="utf-8")
