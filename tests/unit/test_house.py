"""The order of the rooms, the size of modules, what an import loads, and that all that is public is documented."""

import ast
import re
import subprocess
import sys

import pytest
from house import (
    AT_MOST,
    CONTRIBUTING,
    FLOOR_OF,
    MODULES,
    PACKAGE,
    PICTURES,
    TREES,
    drawn,
    folder_circles,
    graph,
    imports,
    in_a_circle,
    read,
    room,
    walks,
)

import toolshape

STANDARD_LIBRARY_ONLY = {"_records", "_schema", "messages", "_families", "text"}
# Who may import what besides the standard library, and besides pydantic after the providers.
LIBRARIES = {
    "toolshape._families.wire.ids": {
        "pydantic_core"
    },  # its JSON writer: an id is made for each call of Gemini and Ollama
    "toolshape._function.docstrings": {"docstring_parser"},
    "toolshape._validation.jsonschema_keywords": {"jsonschema"},
    "toolshape._tools.definition.bundle": {"jsonschema_specifications", "referencing"},
    "toolshape._validation.repair": {"json5"},
    "toolshape._validation.text_grammar": {"llguidance"},
    "toolshape.testing._laws": {"hypothesis", "jsonschema"},
    "toolshape.testing._strategies": {"hypothesis"},
    "toolshape._cli.cli": {"click"},
    "toolshape.ledger": {"sqlalchemy", "stamina", "typing_extensions"},
    "toolshape.otel": {"opentelemetry"},
    "toolshape.mcp._approving": {"mcp", "mcp_types"},
    "toolshape.mcp._calling": {"anyio", "mcp", "mcp_types"},
    "toolshape.mcp._connecting": {"mcp", "mcp_types", "typing_extensions"},
    "toolshape.mcp._serving": {"anyio", "mcp", "mcp_types"},
    "toolshape.openapi._answering": {"httpx"},
    "toolshape.openapi._api": {"httpx"},
    "toolshape.bridges.langchain": {"langchain_core", "langgraph", "typing_extensions"},
    "toolshape.bridges.openai_agents": {"agents", "typing_extensions"},
    "toolshape.bridges.pydantic_ai": {"pydantic_ai", "typing_extensions"},
    "toolshape._cli.output": {"click", "rich"},
    "toolshape._cli.rulebook.keywords": {"jsonschema"},
    "toolshape._cli.searching": {"click"},
    "toolshape._cli.serving": {"anyio", "click", "mcp", "uvicorn"},
    "toolshape.contract._lock": {"jsonschema"},
    "toolshape.contract._schema_validators": {"jsonschema", "referencing"},
    "toolshape._cli.contracting": {"click"},
    "toolshape._cli.evaluation": {"click"},
    "toolshape._cli.replaying": {"click"},
    "toolshape._cli.verifying": {"click", "httpx"},
    # For the type checker only.
    "toolshape._tools.tool": {"typing_extensions"},
    "toolshape._bound.registry": {"typing_extensions"},
    "toolshape._schema.values": {"typing_extensions"},
    "toolshape._conversation.conversation": {"typing_extensions"},
    "toolshape._bound.bound": {"typing_extensions"},
    "toolshape.testing._fake.fake": {"typing_extensions"},
    "toolshape._answers.output": {"typing_extensions"},
    "toolshape._records.printing": {"rich"},
}
# What is imported later, inside a function or by a package's ``import_later``: extras, what most programs never need, and what every import of the package would pay for:
# asyncio (a sixth of what importing pydantic costs), importlib.metadata (as much), logging, difflib, pkgutil and
# importlib.util (a thirtieth each).
LAZY = {
    ("toolshape._records.printing", "rich.table"),
    ("toolshape._records.printing", "rich.text"),
    ("toolshape._cli.verifying", "httpx"),
    ("toolshape._cli.contracting", "toolshape.contract._recorded"),
    ("toolshape._cli.verifying", "toolshape._cli.rulebook.endpoint"),
    ("toolshape._cli.verifying", "toolshape._cli.rulebook.keywords"),
    ("toolshape._cli.verifying", "toolshape._cli.rulebook.probes"),
    ("toolshape._cli.verifying", "toolshape._cli.rulebook.verify"),
    ("toolshape._records.errors", "difflib"),
    ("toolshape._bound.bound", "logging"),
    ("toolshape.trace._recorder", "fcntl"),
    ("toolshape._families", "pkgutil"),
    ("toolshape._families.openai.unparsed", "toolshape._families.text.unparsed"),
    ("toolshape._plan.planning", "logging"),
    ("toolshape._bound.bound", "toolshape._families.text.grammars"),
    ("toolshape._bound.bound", "toolshape._bound.batches"),
    ("toolshape._bound.batches", "toolshape._function.calling.aio"),
    ("toolshape._bound.bound", "toolshape._plan.session"),
    ("toolshape._families.names", "importlib.metadata"),
    ("toolshape._validation.coercion", "importlib.util"),
    ("toolshape._validation.fast_path", "toolshape._function.core_schema.null_defaults"),
    ("toolshape._validation.fast_path", "toolshape._validation.pydantic_checker"),
    ("toolshape._validation.slow_path", "toolshape._validation.repair"),
    ("toolshape._validation.text_grammar", "llguidance"),
    ("toolshape._function.calling.failures", "logging"),
    ("toolshape._function.calling.call", "toolshape._function.calling.aio"),
    ("toolshape._tools.definition.normalise", "toolshape._tools.definition.bundle"),
    ("toolshape._tools.definition.build", "toolshape._validation.jsonschema_checker"),
    ("toolshape._tools.definition.build", "toolshape._validation.schema_defaults"),
    ("toolshape._tools.tool", "toolshape._function.calling.aio"),
    ("toolshape._tools.tool", "toolshape._function.calling.limited"),
    ("toolshape._plan.running", "toolshape._function.calling.limited"),
    ("toolshape._plan.hooks", "toolshape._function.calling.limited"),
    ("toolshape._tools.source", "toolshape._tools.definition.build"),
    ("toolshape._tools.tool", "toolshape._tools.definition.build"),
    ("toolshape._plan.running", "toolshape._function.calling.aio"),
    ("toolshape._plan.hooks", "toolshape._function.calling.aio"),
    ("toolshape._tools.record", "toolshape._validation.output_checker"),
    ("toolshape._records.context", "logging"),
    ("toolshape._tools.record", "logging"),
    ("toolshape._bound.store", "logging"),
    ("toolshape._tools.hook_kinds", "toolshape._function.calling.aio"),
    ("toolshape._plan.steps", "toolshape._function.calling.aio"),
    ("toolshape._plan.plan", "toolshape._function.calling.aio"),
    ("toolshape._plan.plan", "toolshape._plan.once"),
    ("toolshape._plan.plan", "toolshape._plan.pausing"),
    ("toolshape._plan.plan", "toolshape._plan.steps"),
    ("toolshape._bound.registry", "toolshape._plan.resuming"),
    ("toolshape._bound.registry", "toolshape._answers.output"),
    ("toolshape._bound.registry", "pickle"),
    ("toolshape._bound.registry", "toolshape._tools.definition.executor"),
    ("toolshape._bound.registry", "toolshape._bound.search"),
    ("toolshape._conversation.conversation", "toolshape._bound.past_searches"),
    ("toolshape.ledger", "sqlite3"),
    ("toolshape._conversation.conversation", "toolshape._plan.resuming"),
    ("toolshape._conversation.conversation", "toolshape._plan.steps"),
    ("toolshape._conversation.conversation", "toolshape._conversation.version_1"),
    ("toolshape._cli.contracting", "toolshape.contract"),
    ("toolshape._cli.contracting", "toolshape.mcp"),
    ("toolshape.mcp._connecting", "toolshape.contract._pins"),
    ("toolshape._cli.contracting", "toolshape.contract._page"),
    ("toolshape._cli.serving", "anyio"),
    ("toolshape._cli.serving", "mcp.server.stdio"),
    ("toolshape._cli.serving", "toolshape.mcp"),
    ("toolshape._cli.serving", "uvicorn"),
    ("toolshape.mcp._calling", "toolshape._validation.output_checker"),
    ("toolshape.testing._fake.spoken", "toolshape._validation.jsonschema_keywords"),
    ("toolshape._bound.registry", "toolshape._plan.steps"),
    ("toolshape._function.model", "logging"),
    ("toolshape._tools.record", "toolshape._function.calling.concurrency"),
    ("toolshape._bound.registry", "toolshape._tools.definition.build"),
    ("toolshape._bound.registry", "toolshape._bound.bindings"),
    ("toolshape._bound.registry", "toolshape._bound.bound"),
    ("toolshape._bound.registry", "toolshape._tools.hook_kinds"),
    ("toolshape._bound.registry", "toolshape._plan.plan"),
    ("toolshape._bound.registry", "toolshape._plan.results"),
    ("toolshape._tools.tool", "toolshape._families"),
    ("toolshape._tools.tool", "toolshape._tools.export"),
    ("toolshape._tools.options", "toolshape._families.names"),
    ("toolshape._tools.record", "toolshape._families"),
    ("toolshape._schema.backtracking", "toolshape._schema.walk"),
    ("toolshape._bound.bound", "toolshape._history.messages"),
    ("toolshape._bound.bound", "toolshape._history.outbound"),
}

MOST_STATEMENTS = 40
EVERY = pytest.mark.parametrize("name", MODULES)


@EVERY
def test_a_module_imports_from_lower_floors(name):
    """And from its own room; inside a function only what is listed."""
    for imported, is_inner in imports(name):
        assert not is_inner or (name, imported) in LAZY, (
            f"{name} imports {imported} inside a function"
        )
        if room(name) and room(imported) and imported in MODULES and room(imported) != room(name):
            assert FLOOR_OF[room(imported)] < FLOOR_OF[room(name)], (
                f"{name} must not import {imported}"
            )


def test_every_room_has_a_floor():
    """No more rooms than those of the plan: a new one is a decision."""
    assert {room(name) for name in MODULES} - {""} == set(FLOOR_OF)


def test_every_room_says_what_comes_in_and_what_goes_out():
    """What it is, then three sentences: what comes in, what goes out, what may be touched."""
    for name in FLOOR_OF:
        said = ast.get_docstring(TREES[f"toolshape.{name}"]) or ""
        if MODULES[f"toolshape.{name}"].name == "__init__.py":
            assert " Out: " in said.replace("\n", " "), (
                f"{name} does not say what comes in and goes out"
            )
            assert "\nIn: " in said, name


def test_no_folders_import_each_other():
    """Of the entries of a folder, none needs another that needs it."""
    assert folder_circles() == set()


def test_the_code_reads_no_worse_than_it_did():
    """``python -m tests.house`` says how it reads; a better number replaces the one that is held here."""
    found = read(PACKAGE)
    assert len(found.stacked) <= AT_MOST["stacked"], found.stacked
    assert found.conditional <= AT_MOST["conditional"]
    assert found.wide <= AT_MOST["wide"]
    assert len(found.untold) <= AT_MOST["untold"], found.untold


def test_the_measures_of_reading_can_fail(tmp_path):
    """What is counted is counted."""
    branches = "".join(f"    if x == {number}:\n        pass\n" for number in range(12))
    (tmp_path / "a.py").write_text(
        f"a = (1 if b else 2) if c else 3  # {'x' * 90}\n\n\n\ndef f(x):\n{branches}",
        encoding="utf-8",
    )
    (tmp_path / "b.py").write_text(f"def g(x):\n    # Why.\n{branches}", encoding="utf-8")
    found = read(tmp_path)
    assert (found.stacked, found.untold, found.told) == (("a.py:1",), ("a.py:5 f",), 50)
    assert found.wide > 0


def test_no_module_imports_itself_by_way_of_others():
    """There is no circle of imports in the whole package, those inside functions included."""
    assert not in_a_circle(graph())


def test_every_lazy_import_that_is_listed_is_there():
    """The list says what is, and nothing that was."""
    found = {
        (name, imported) for name in MODULES for imported, is_inner in imports(name) if is_inner
    }
    assert found == LAZY


@EVERY
def test_sizes(name):
    """A function of more than forty statements is a question; a module is as long as its subject."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            statements = sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) - 1
            assert statements <= MOST_STATEMENTS, f"{name}: {node.name}"


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
    script = (
        "import sys, toolshape; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not loaded & {
        "click",
        "openai",
        "anthropic",
        "jsonschema",
        "hypothesis",
        "pytest",
        "httpx",
        "rich",
    }
    assert not loaded & {"asyncio", "logging", "difflib", "pkgutil"}
    script = "import sys; from toolshape import Registry, tool; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(ran.stdout.split()) & {
        "toolshape._validation.pydantic_checker",
        "toolshape._function.calling.aio",
        "toolshape._tools.definition.build",
        "toolshape._bound.bound",
        "toolshape._families",
        "toolshape._schema.walk",
        "toolshape._families.wire.provider",
    }


@pytest.mark.parametrize("family", ["anthropic", "bedrock", "gemini", "mcp", "openai"])
def test_asking_for_one_family_imports_no_other(family):
    """A program that talks to one provider pays for one."""
    script = f"import sys; from toolshape.provider import get; get({family!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {
        name.split(".")[2] for name in ran.stdout.split() if name.startswith("toolshape._families.")
    }
    assert loaded - {"names", "wire"} == {
        family,
        *({"anthropic"} if family == "bedrock" else ()),
    }  # Bedrock serves the models of Anthropic


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
    script = "import sys; sys.modules['click'] = None; import toolshape._cli.cli"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
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
        ("openapi", "httpx", "toolshape.openapi"),
        ("openapi", "referencing", "toolshape.openapi"),
        ("schema", "jsonschema", "toolshape.contract"),
        ("testing", "hypothesis", "toolshape.testing._laws"),
        ("testing", "jsonschema", "toolshape.testing._laws"),
        ("repair", "json5", "toolshape._validation.repair"),
        ("cli", "rich", "toolshape._cli.cli"),
    ],
)
def test_a_missing_extra_is_named(extra, missing, module):
    """The last line of what Python prints is what to install."""
    script = f"import sys; sys.modules[{missing!r}] = None; import {module}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert f"pip install 'toolshape[{extra}]'" in done.stderr.splitlines()[-1]


def test_every_public_thing_is_described():
    """A docstring for every name of the public face, and for each of their public members."""
    for name in toolshape.__all__:
        thing = getattr(toolshape, name)
        if name == "Injected":
            continue
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if (
                not member.startswith("_")
                and callable(getattr(value, "fget", value))
                and not isinstance(value, type)
            ):
                assert getattr(value, "__doc__", None), f"{name}.{member}"


@EVERY
def test_no_comment_hangs_on_a_bracket(name):
    """A statement that is broken over lines says why above, and not behind its last bracket."""
    rows = MODULES[name].read_text(encoding="utf-8").splitlines()
    hanging = [
        row for row in rows if re.match(r" *[)\]}]+[:,]*  # (?!noqa|fmt:|pyright|type:)", row)
    ]
    assert not hanging


@EVERY
def test_the_first_line_of_a_module_is_a_whole_sentence(name):
    """Whoever looks for a place reads the first lines, and not what follows them."""
    first = (ast.get_docstring(TREES[name]) or "").partition("\n")[0]
    assert first.endswith("."), first


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_made_from_what_they_show(name):
    """``python -m tests.house --write`` writes them anew."""
    page = CONTRIBUTING.read_text(encoding="utf-8")
    assert drawn(page, name)[1] == PICTURES[name]()


@pytest.mark.slow
def test_a_dispatch_calls_nothing_upwards():
    """Records are made below and handed on.

    A conversation asks ``Call.arguments`` for the arguments as the tool declares them, and a plan asks an answer's
    target for what its type makes of them, as it would call a tool's function.
    """
    found = walks()
    upward = {name: made.upward for name, made in found.items() if made.upward}
    assert upward.keys() <= {
        "an answer beside tools",
        "Conversation.dispatch",
        "Conversation.request, same provider",
        'first request("anthropic") after OpenAI',
    }
    assert upward["an answer beside tools"] == 1
    assert upward["Conversation.dispatch"] == 1
    assert found["Registry.dispatch with messages"].across <= 9
    assert found["the same, one coercion"].across <= 11
