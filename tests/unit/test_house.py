"""The order of the rooms, the size of modules, what an import loads, and that all that is public is documented."""

import ast
import subprocess
import sys

import pytest
from house import BEGIN, CONTRIBUTING, END, MODULES, ROOMS, TREES, graph, imports, picture, room

import toolshape

STANDARD_LIBRARY_ONLY = ROOMS[: ROOMS.index("_history") + 1]
# Who may import what besides the standard library, and besides pydantic after the providers.
LIBRARIES = {
    "toolshape._function.docstrings": {"docstring_parser"},
    "toolshape._definitions.jsonschema_keywords": {"jsonschema"},
    "toolshape._validation.repair": {"json5"},
    "toolshape.testing._laws": {"hypothesis", "jsonschema"},
    "toolshape.testing._strategies": {"hypothesis"},
    "toolshape._commands.cli": {"click"},
    "toolshape.ledger": {"sqlalchemy", "typing_extensions"},
    "toolshape.otel": {"opentelemetry"},
    "toolshape.mcp._approving": {"mcp", "mcp_types"},
    "toolshape.mcp._calling": {"anyio", "mcp", "mcp_types"},
    "toolshape.mcp._connecting": {"mcp", "mcp_types", "typing_extensions"},
    "toolshape.mcp._serving": {"anyio", "mcp", "mcp_types"},
    "toolshape.bridges.langchain": {"langchain_core", "langgraph", "typing_extensions"},
    "toolshape.bridges.openai_agents": {"agents", "typing_extensions"},
    "toolshape.bridges.pydantic_ai": {"pydantic_ai", "typing_extensions"},
    "toolshape._commands.output": {"click", "rich"},
    "toolshape._commands.serving": {"anyio", "click", "mcp", "uvicorn"},
    "toolshape.contract._lock": {"jsonschema"},
    "toolshape.contract._validators": {"jsonschema", "referencing"},
    "toolshape._commands.contracting": {"click"},
    "toolshape._commands.evaluation": {"click"},
    "toolshape._commands.replaying": {"click"},
    "toolshape._commands.verifying": {"click", "httpx"},
    # For the type checker only.
    "toolshape._tool": {"typing_extensions"},
    "toolshape._registry": {"typing_extensions"},
    "toolshape._schema.values": {"typing_extensions"},
    "toolshape._conversation": {"typing_extensions"},
    "toolshape._bound": {"typing_extensions"},
    "toolshape.testing._fake.fake": {"typing_extensions"},
}
# Imports inside functions: extras, what most programs never need, and what every import of the package would pay for:
# asyncio (a sixth of what importing pydantic costs), importlib.metadata (as much), logging, difflib, pkgutil and
# importlib.util (a thirtieth each).
LAZY = {
    ("toolshape._commands.verifying", "httpx"),
    ("toolshape._commands.verifying", "toolshape._rulebook.endpoint"),
    ("toolshape._commands.verifying", "toolshape._rulebook.probes"),
    ("toolshape._commands.verifying", "toolshape._rulebook.verify"),
    ("toolshape._errors", "difflib"),
    ("toolshape._bound", "logging"),
    ("toolshape.trace._recorder", "fcntl"),
    ("toolshape._families", "pkgutil"),
    ("toolshape._families", "toolshape._families.text.formats"),
    ("toolshape._families", "toolshape._families.text.mixed"),
    ("toolshape._families.openai.left_calls", "toolshape._families.text.left"),
    ("toolshape._dispatch.response_warnings", "logging"),
    ("toolshape._bound", "toolshape._families.text.grammars"),
    ("toolshape._families", "importlib.metadata"),
    ("toolshape._validation.coercion", "importlib.util"),
    ("toolshape._validation.fast_path", "toolshape._core_schema.null_defaults"),
    ("toolshape._validation.fast_path", "toolshape._validation.pydantic_checker"),
    ("toolshape._validation.slow_path", "toolshape._validation.repair"),
    ("toolshape._execution.failures", "logging"),
    ("toolshape._execution.run", "toolshape._execution.aio"),
    ("toolshape._definitions.build", "toolshape._definitions.jsonschema_checker"),
    ("toolshape._tool", "toolshape._execution.aio"),
    ("toolshape._tool", "toolshape._execution.limited"),
    ("toolshape._dispatch.running", "toolshape._execution.limited"),
    ("toolshape._dispatch.hooks", "toolshape._execution.limited"),
    ("toolshape._source", "toolshape._definitions.build"),
    ("toolshape._tool", "toolshape._definitions.build"),
    ("toolshape._dispatch.running", "toolshape._execution.aio"),
    ("toolshape._dispatch.hooks", "toolshape._execution.aio"),
    ("toolshape._record", "toolshape._definitions.output_checker"),
    ("toolshape._context", "logging"),
    ("toolshape._record", "logging"),
    ("toolshape._store", "logging"),
    ("toolshape._dispatch.hook_kinds", "toolshape._execution.aio"),
    ("toolshape._dispatch.steps", "toolshape._execution.aio"),
    ("toolshape._dispatch.plan", "toolshape._dispatch.once"),
    ("toolshape._dispatch.plan", "toolshape._dispatch.pausing"),
    ("toolshape._dispatch.plan", "toolshape._dispatch.steps"),
    ("toolshape._registry", "toolshape._dispatch.resuming"),
    ("toolshape._commands.contracting", "toolshape.contract"),
    ("toolshape._commands.contracting", "toolshape.contract._page"),
    ("toolshape._commands.serving", "anyio"),
    ("toolshape._commands.serving", "mcp.server.stdio"),
    ("toolshape._commands.serving", "toolshape.mcp"),
    ("toolshape._commands.serving", "uvicorn"),
    ("toolshape.mcp._calling", "toolshape._definitions.output_checker"),
    ("toolshape.testing._fake.spoken", "toolshape._definitions.jsonschema_keywords"),
    ("toolshape._registry", "toolshape._dispatch.steps"),
    ("toolshape._function.model", "logging"),
    ("toolshape._record", "toolshape._execution.concurrency"),
    ("toolshape._registry", "toolshape._definitions.build"),
    ("toolshape._registry", "toolshape._bindings"),
    ("toolshape._registry", "toolshape._bound"),
    ("toolshape._registry", "toolshape._dispatch.hook_kinds"),
    ("toolshape._registry", "toolshape._dispatch.plan"),
    ("toolshape._tool", "toolshape._families"),
    ("toolshape._tool", "toolshape._wire.export"),
    ("toolshape._options", "toolshape._families"),
    ("toolshape._record", "toolshape._families"),
    ("toolshape._schema.backtracking", "toolshape._schema.walk"),
    ("toolshape._bound", "toolshape._dispatch.messages"),
    ("toolshape._bound", "toolshape._dispatch.outbound"),
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
        "toolshape._validation.pydantic_checker",
        "toolshape._execution.aio",
        "toolshape._definitions.build",
        "toolshape._bound",
        "toolshape._families",
        "toolshape._schema.walk",
        "toolshape._wire.provider",
    }


@pytest.mark.parametrize("family", ["anthropic", "bedrock", "gemini", "mcp", "openai"])
def test_asking_for_one_family_imports_no_other(family):
    """A program that talks to one provider pays for one."""
    script = f"import sys; from toolshape.provider import get; get({family!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[2] for name in ran.stdout.split() if name.startswith("toolshape._families.")}
    assert loaded == {family, *({"anthropic"} if family == "bedrock" else ())}  # Bedrock serves the models of Anthropic


def test_only_public_modules_say_what_is_public():
    """``__all__`` in a module that nobody imports from would promise what nobody keeps."""
    public = {name for name in MODULES if not any(part.startswith("_") for part in name.split("."))}
    found = {
        name
        for name in MODULES
        if "__all__" in {node.id for node in ast.walk(TREES[name]) if isinstance(node, ast.Name)}
    }
    assert found <= public, found - public


def test_the_command_line_says_what_it_needs():
    """Without click there is a sentence, not a traceback."""
    script = "import sys; sys.modules['click'] = None; import toolshape._commands.cli"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (
        1,
        "the command line needs click and rich: pip install 'toolshape[cli]'",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "missing", "module"),
    [
        ("ledger", "sqlalchemy", "toolshape.ledger"),
        ("otel", "opentelemetry", "toolshape.otel"),
        ("mcp", "mcp", "toolshape.mcp"),
        ("mcp", "mcp_types", "toolshape.mcp"),
        ("schema", "jsonschema", "toolshape.contract"),
        ("testing", "hypothesis", "toolshape.testing._laws"),
        ("testing", "jsonschema", "toolshape.testing._laws"),
        ("repair", "json5", "toolshape._validation.repair"),
        ("cli", "rich", "toolshape._commands.cli"),
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
