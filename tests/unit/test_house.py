"""The order of the rooms, the size of modules, what an import loads, and that all that is public is documented."""

import ast
import subprocess
import sys

import pytest
from house import BEGIN, CONTRIBUTING, END, MODULES, ROOMS, TREES, graph, imports, picture, room

import toolshape

STANDARD_LIBRARY_ONLY = ROOMS[: ROOMS.index("history") + 1]
# Who may import what besides the standard library, and besides pydantic after the providers.
LIBRARIES = {
    "toolshape.function.docstrings": {"docstring_parser"},
    "toolshape.definitions.jsonschema_keywords": {"jsonschema"},
    "toolshape.validation.repair": {"json5"},
    "toolshape.testing.laws": {"hypothesis", "jsonschema"},
    "toolshape.testing.strategies": {"hypothesis"},
    "toolshape.cli": {"click"},
    "toolshape.ledger": {"sqlalchemy", "typing_extensions"},
    "toolshape.ledger_tables": {"sqlalchemy"},
    "toolshape.otel": {"opentelemetry"},
    "toolshape.mcp.approving": {"mcp", "mcp_types"},
    "toolshape.mcp.calling": {"anyio", "mcp", "mcp_types"},
    "toolshape.mcp.changes": {"mcp"},
    "toolshape.mcp.connecting": {"mcp", "mcp_types", "typing_extensions"},
    "toolshape.mcp.serving": {"anyio", "mcp", "mcp_types"},
    "toolshape.commands.output": {"click", "rich"},
    "toolshape.commands.serving": {"anyio", "click", "mcp", "uvicorn"},
    "toolshape.contract.lock": {"jsonschema"},
    "toolshape.contract.validators": {"jsonschema", "referencing"},
    "toolshape.commands.contracting": {"click"},
    "toolshape.commands.evaluation": {"click"},
    "toolshape.commands.replaying": {"click"},
    # For the type checker only.
    "toolshape.tool": {"typing_extensions"},
    "toolshape.registry": {"typing_extensions"},
    "toolshape.schema.values": {"typing_extensions"},
    "toolshape.conversation": {"typing_extensions"},
    "toolshape.testing.fake.fake": {"typing_extensions"},
}
# Imports inside functions: extras, what most programs never need, and what every import of the package would pay for:
# asyncio (a sixth of what importing pydantic costs), importlib.metadata (as much), logging, difflib, pkgutil and
# importlib.util (a thirtieth each).
LAZY = {
    ("toolshape.errors", "difflib"),
    ("toolshape.bound", "logging"),
    ("toolshape.trace.recorder", "fcntl"),
    ("toolshape.providers", "pkgutil"),
    ("toolshape.providers", "importlib.metadata"),
    ("toolshape.validation.coercion", "importlib.util"),
    ("toolshape.validation.fast_path", "toolshape.core_schema.null_defaults"),
    ("toolshape.validation.fast_path", "toolshape.validation.pydantic_checker"),
    ("toolshape.validation.slow_path", "toolshape.validation.repair"),
    ("toolshape.execution.failures", "logging"),
    ("toolshape.execution.run", "toolshape.execution.aio"),
    ("toolshape.definitions.build", "toolshape.definitions.jsonschema_checker"),
    ("toolshape.tool", "toolshape.execution.aio"),
    ("toolshape.tool", "toolshape.execution.limited"),
    ("toolshape.dispatch.plan", "toolshape.execution.limited"),
    ("toolshape.dispatch.hooks", "toolshape.execution.limited"),
    ("toolshape.source", "toolshape.definitions.build"),
    ("toolshape.tool", "toolshape.definitions.build"),
    ("toolshape.dispatch.plan", "toolshape.execution.aio"),
    ("toolshape.dispatch.hooks", "toolshape.execution.aio"),
    ("toolshape.dispatch.handler", "toolshape.definitions.output_checker"),
    ("toolshape.context", "logging"),
    ("toolshape.record", "logging"),
    ("toolshape.registry", "logging"),
    ("toolshape.dispatch.hook_kinds", "toolshape.execution.aio"),
    ("toolshape.dispatch.steps", "toolshape.execution.aio"),
    ("toolshape.dispatch.plan", "toolshape.dispatch.once"),
    ("toolshape.dispatch.plan", "toolshape.dispatch.pausing"),
    ("toolshape.dispatch.plan", "toolshape.dispatch.steps"),
    ("toolshape.registry", "toolshape.dispatch.resuming"),
    ("toolshape.commands.contracting", "toolshape.contract"),
    ("toolshape.commands.contracting", "toolshape.contract.page"),
    ("toolshape.commands.serving", "anyio"),
    ("toolshape.commands.serving", "mcp.server.stdio"),
    ("toolshape.commands.serving", "toolshape.mcp"),
    ("toolshape.commands.serving", "uvicorn"),
    ("toolshape.mcp.calling", "toolshape.definitions.output_checker"),
    ("toolshape.registry", "toolshape.dispatch.steps"),
    ("toolshape.function.model", "logging"),
    ("toolshape.record", "toolshape.execution.concurrency"),
    ("toolshape.registry", "toolshape.definitions.build"),
    ("toolshape.bound", "toolshape.dispatch.messages"),
    ("toolshape.bound", "toolshape.dispatch.outbound"),
}

EVERY = pytest.mark.parametrize("name", MODULES)


@EVERY
def test_a_module_imports_from_rooms_before_its_own(name):
    """And inside a function only what is listed."""
    for imported, is_inner in imports(name):
        assert not is_inner or (name, imported) in LAZY, f"{name} imports {imported} inside a function"
        if room(imported) and imported in MODULES and name != "toolshape" and room(imported) != room(name):
            assert ROOMS.index(room(imported)) < ROOMS.index(room(name)), f"{name} must not import {imported}"


def test_no_module_imports_itself_by_way_of_others():
    """There is no circle of imports in the whole package, those inside functions included."""
    left = graph()
    while leaves := [name for name, needs in left.items() if not needs]:
        for name in leaves:
            del left[name]
        left = {name: needs - set(leaves) for name, needs in left.items()}
    assert not left, f"these import each other: {sorted(left)}"


def test_every_lazy_import_that_is_listed_is_there():
    """The list says what is, and nothing that was."""
    found = {(name, imported) for name in MODULES for imported, is_inner in imports(name) if is_inner}
    assert found == LAZY


@EVERY
def test_sizes(name):
    """A function over 40 lines is a question; a module is as long as its subject."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            assert not body or node.end_lineno - body[0].lineno < 40, f"{name}: {node.name}"


@EVERY
def test_libraries(name):
    """No provider's SDK anywhere; the standard library alone up to the providers."""
    allowed = {"toolshape", "annotationlib", *sys.stdlib_module_names, *LIBRARIES.get(name, ())}
    if room(name) not in STANDARD_LIBRARY_ONLY:
        allowed |= {"pydantic", "pydantic_core"}
    for imported, _ in imports(name):
        assert imported.split(".")[0] in allowed, f"{name} imports {imported}"


def test_importing_toolshape_imports_no_extra():
    """The core is pydantic and docstring-parser; what would cost every import waits until it is needed."""
    script = "import sys, toolshape; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"click", "openai", "anthropic", "jsonschema", "hypothesis", "pytest", "httpx", "rich"}
    assert not loaded & {"asyncio", "logging", "difflib", "pkgutil"}
    script = "import sys; from toolshape import Registry, tool; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(ran.stdout.split()) & {
        "toolshape.validation.pydantic_checker",
        "toolshape.execution.aio",
        "toolshape.definitions.build",
    }


def test_the_command_line_says_what_it_needs():
    """Without click there is a sentence, not a traceback."""
    script = "import sys; sys.modules['click'] = None; import toolshape.cli"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (
        1,
        "the command line needs click and rich: pip install 'toolshape[cli]'",
    )


@pytest.mark.parametrize(
    ("extra", "missing", "module"),
    [
        ("ledger", "sqlalchemy", "toolshape.ledger"),
        ("otel", "opentelemetry", "toolshape.otel"),
        ("mcp", "mcp", "toolshape.mcp"),
        ("mcp", "mcp_types", "toolshape.mcp"),
        ("schema", "jsonschema", "toolshape.contract"),
        ("testing", "hypothesis", "toolshape.testing.laws"),
        ("testing", "jsonschema", "toolshape.testing.laws"),
        ("repair", "json5", "toolshape.validation.repair"),
        ("cli", "rich", "toolshape.cli"),
    ],
)
def test_a_missing_extra_is_named(extra, missing, module):
    """The last line of what Python prints is what to install."""
    script = f"import sys; sys.modules[{missing!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert f"pip install 'toolshape[{extra}]'" in done.stderr.splitlines()[-1]


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


def test_the_picture_is_made_from_the_imports():
    """``python tests/house.py`` writes it anew."""
    page = CONTRIBUTING.read_text(encoding="utf-8")
    assert page.partition(BEGIN)[2].partition(END)[0].strip() == picture()
