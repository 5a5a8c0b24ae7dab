"""The house holds: arrows, sizes, what an import costs, no word of what is private."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolshape

PACKAGE = Path(toolshape.__file__).parent
ROOT = PACKAGE.parent
# Each module may import what stands before it in its row; "both" sides stand before the meeting.
JSON_SIDE = [
    "errors", "near_names", "values", "parts", "calls", "arrows", "matching", "recursion", "faults", "write_only", "lens", "places", "forks", "wording", "feedback", "rewrites", "structure", "rules", "limits", "bodies", "provider", "receiving",
    "providers",
    "showing", "budget", "drafts", "dialects", "wire",
]  # fmt: skip
PYTHON_SIDE = [
    "errors", "values", "parts", "calls", "arrows", "faults", "docstrings", "annotations", "cores", "choices", "map_keys", "write_only", "canonical", "tags", "closing",
    "counting", "nulls", "signature", "binding", "model", "output", "described", "coercion", "wanted", "outcomes", "running", "loops",
]  # fmt: skip
MEETING = [
    *dict.fromkeys([*JSON_SIDE, *PYTHON_SIDE]),
    "reading",
    "terms",
    "validation",
    "repair",
    "mending",
    "payload",
    "refusals",
    "checking",
    "assertions",
    "schemas",
    "definitions",
    "options",
    "tool",
    "shape",
    "route",
    "dispatch",
    "collecting",
    "report",
    "bound",
    "registry",
    "checks",
    "slips",
    "model_values",
    "testing",
    "cli",
]
# The loader of providers, two extras, the dialects of others, what is not valid at once, and what would cost every import
# of us a good deal: asyncio (a sixth of what importing pydantic costs), the metadata of all that is installed (as much),
# logging, difflib, pkgutil and importlib.util (a thirtieth each).
INNER = {
    ("errors.py", "difflib"),
    ("provider.py", "pkgutil"),
    ("coercion.py", "importlib.util"),
    ("running.py", "toolshape.loops"),
    ("provider.py", "importlib.metadata"),
    ("outcomes.py", "logging"),
    ("provider.py", "toolshape.providers"),
    ("definitions.py", "toolshape.schemas"),
    ("described.py", "toolshape.definitions"),
    ("payload.py", "toolshape.repair"),
    ("validation.py", "toolshape.checking"),
}
# A class with a docstring for every public name; the vocabulary, none of whose rules knows another; what the two families
# say that others are made of; a line for every hole, and for every kind of core schema.
LONG_MODULES = {
    "tool.py": 640,
    "schemas.py": 350,
    "providers/openai.py": 430,
    "providers/gemini.py": 360,
    "rewrites.py": 730,
    "lens.py": 545,
    "drafts.py": 360,
    "testing.py": 450,
    "model.py": 330,
    "matching.py": 320,
    "mending.py": 310,
}


def modules() -> dict[str, Path]:
    return {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


EVERY = pytest.mark.parametrize("name", modules())


def room(name: str) -> str:
    return name.partition("/")[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """The rooms of toolshape that a module imports, and whether it does so inside a function."""
    tree = ast.parse(path.read_text())
    inner = {
        id(n) for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f)
    }
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "toolshape" else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(name, id(node) in inner) for name in names]
    return found


@EVERY
def test_arrows_point_left(name):
    """No module imports what stands to its right, nor inside a function, but for the loader of providers."""
    this = room(name)
    for imported, is_inner in imports(modules()[name]):
        loader = (name, imported) in INNER
        assert not is_inner or loader, f"{name} imports {imported} inside a function"
        parts = imported.split(".")
        if parts[0] != "toolshape" or loader or this == "__init__" or len(parts) == 1:
            continue
        if this == parts[1] == "providers":  # a family that is made of another
            continue
        row = next(side for side in (JSON_SIDE, PYTHON_SIDE, MEETING) if this in side)
        assert parts[1] in row[: row.index(this)], f"{name} must not import {imported}"


@EVERY
def test_sizes(name):
    """A long module or function is a question that has an answer here, or none."""
    text = modules()[name].read_text()
    assert text.count("\n") <= LONG_MODULES.get(name, 300)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            assert not body or node.end_lineno - body[0].lineno < 40, f"{name}: {node.name}"


@EVERY
def test_the_json_side_needs_only_the_standard_library(name):
    """No provider SDK anywhere, no pydantic on the JSON side."""
    for imported, _ in imports(modules()[name]):
        top = imported.split(".")[0]
        allowed = {"toolshape", "annotationlib", *sys.stdlib_module_names}
        if room(name) not in JSON_SIDE:
            allowed |= {"pydantic", "pydantic_core"}
        if name == "docstrings.py":
            allowed.add("docstring_parser")
        if name == "cli.py":
            allowed.add("click")
        if name in ("testing.py", "model_values.py"):
            allowed |= {"hypothesis", "jsonschema"}
        if name == "assertions.py":
            allowed.add("jsonschema")
        if name == "repair.py":
            allowed.add("json5")
        if name in ("tool.py", "registry.py", "values.py"):
            allowed.add("typing_extensions")  # for the type checker only
        assert top in allowed, f"{name} imports {imported}"


def test_importing_toolshape_imports_no_extra():
    """The core is pydantic and docstring-parser; what would cost every import waits until it is needed."""
    script = "import sys, toolshape; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"click", "openai", "anthropic", "jsonschema", "hypothesis", "pytest", "httpx"}
    assert not loaded & {"asyncio", "logging", "difflib", "pkgutil"}
    script = "import sys; from toolshape import Registry, tool; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(ran.stdout.split()) & {"toolshape.checking", "toolshape.mending", "toolshape.definitions"}


def test_the_command_line_says_what_it_needs():
    """Without click there is a sentence, not a traceback."""
    script = "import sys; sys.modules['click'] = None; import toolshape.cli"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "the command line needs click: pip install 'toolshape[cli]'")


def test_every_public_thing_is_described():
    """A docstring for every name of the public face, and for each of their public members."""
    for name in toolshape.__all__:
        thing = getattr(toolshape, name)
        if name == "Injected":
            continue
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and callable(getattr(value, "fget", value)) and not isinstance(value, type):
                assert getattr(value, "__doc__", None), f"{name}.{member}"
