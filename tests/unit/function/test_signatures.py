"""Every callable can be a tool, or is refused at once with every reason."""

import asyncio
import copy
import functools
import inspect
import math
import pickle
import sys
import textwrap
from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel

from toolshape import CallError, DefinitionError, Injected, Registry, UsageError, tool
from toolshape._tools.tool import Tool


class Connection:
    """Nothing that JSON Schema can say."""


def refused(function, **options) -> list[tuple[str, str]]:
    with pytest.raises(DefinitionError) as caught:
        tool(**options)(function) if options else tool(function)
    assert all(str(problem) in str(caught.value) for problem in caught.value.problems)
    assert caught.value.location
    return [(problem.path, problem.rule) for problem in caught.value.problems]


def test_every_problem_at_once_with_file_and_line():
    """Two parameters are wrong: both are named, and where."""

    def query(
        good: int, connection: Connection, callback: "type[int]", text: str | Connection = ""
    ): ...

    assert refused(query) == [("connection", "no_schema"), ("callback", "no_schema")]
    with pytest.raises(
        DefinitionError, match=rf"{__file__}:{query.__code__.co_firstlineno}"
    ) as caught:
        tool(query)
    assert "Injected[...]" in str(caught.value)


def test_a_branch_that_json_cannot_say_is_a_finding():
    """The rest of the union still is a tool."""

    @tool
    def query(text: str | Connection = "") -> str:
        """Query."""
        return str(text)

    assert query.input_schema["properties"]["text"] == {"type": "string", "default": ""}
    assert [finding.rule for finding in query.findings] == ["unsupported_branch"]


@pytest.mark.parametrize("thing", [Connection, BaseModel, 5, "text", len.__self__, lambda x: x])
def test_what_is_no_function_is_refused(thing):
    """Classes, values, modules, lambdas without a name."""
    assert [rule for _, rule in refused(thing)] == ["not_a_function"]


def test_builtins_without_a_signature_are_refused():
    """C functions that do not say what they take."""
    assert [rule for _, rule in refused(getattr)] == ["not_a_function"]


def test_a_named_lambda_and_a_builtin_with_a_signature():
    """Unannotated, so anything goes; but callable."""
    assert tool(name="double")(lambda x: x * 2).call({"x": 2}) == 4
    assert tool(math.fabs).call({"x": -2.0}) == 2.0


def test_injected_must_be_the_whole_annotation():
    """Otherwise a part of a list would come from nowhere."""

    def inside(
        x: list[Injected[int]], *rest: Injected[int], maybe: Injected[int] | None = None
    ): ...

    assert refused(inside) == [("x", "injected_inside"), ("rest", "injected_inside")]


def test_names_that_collide_are_refused():
    """A key of Unpack[...] and a positional-only parameter may share a name in Python; in JSON they cannot."""
    from typing_extensions import Unpack
    from zoo import Filter

    def both(region: str, /, **keep: Unpack[Filter]): ...

    assert refused(both) == [("region", "name_taken")]


def test_partial_hides_what_it_fixed():
    """By position and by keyword: the developer decided, the model neither sees nor sets it."""

    def search(index: Connection, query: str, limit: int = 3, *, tenant: str) -> tuple:
        """Search.

        Args:
            query: What for.
        """
        return query, limit, tenant

    made = tool(functools.partial(search, Connection(), tenant="ours"))
    assert (made.name, made.description) == ("search", "Search.")
    assert list(made.input_schema["properties"]) == ["query", "limit"]
    assert made.call({"query": "a"}) == ("a", 3, "ours")
    with pytest.raises(CallError, match="tenant: unknown field"):
        made.call({"query": "a", "tenant": "theirs"})


class Multiply:
    """Multiplies."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: int) -> int:
        """Multiply by the factor.

        Args:
            x: What.
        """
        return x * self.factor


class Later:
    async def __call__(self, x: int) -> int:
        return x


def test_callable_objects():
    """Named after their class unless they have a name; described by __call__."""
    made = tool(Multiply(3))
    assert (made.name, made.description) == ("Multiply", "Multiply by the factor.")
    assert made.input_schema["properties"]["x"]["description"] == "What."
    assert made.call({"x": 2}) == 6
    assert tool(Later()).call({"x": 2}) == 2


class Desk:
    prefix = "class"

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    @tool
    def close(self, ticket: str) -> str:
        """Close a ticket."""
        return f"{self.prefix}:{ticket}"

    @tool
    def odd(this, ticket: str) -> str:  # noqa: N805
        return f"{this.prefix}:{ticket}"

    @tool
    async def later(self, ticket: str) -> str:
        return f"{self.prefix}:{ticket}"

    @tool
    @classmethod
    def of_class(cls, ticket: str) -> str:
        return f"{cls.prefix}:{ticket}"

    @classmethod
    @tool
    def of_class_inside(cls, ticket: str) -> str:
        return f"{cls.prefix}:{ticket}"

    @tool
    @staticmethod
    def alone(ticket: str) -> str:
        return f"static:{ticket}"

    @staticmethod
    @tool
    def alone_inside(ticket: str) -> str:
        return f"static:{ticket}"


class SubDesk(Desk):
    prefix = "sub"


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (Desk("d"), "close", "d:7"),
        (Desk("d"), "odd", "d:7"),
        (Desk("d"), "of_class", "class:7"),
        (Desk, "of_class", "class:7"),
        (SubDesk, "of_class", "sub:7"),
        (Desk, "of_class_inside", "class:7"),
        (SubDesk, "of_class_inside", "sub:7"),
        (Desk, "alone", "static:7"),
        (Desk("d"), "alone_inside", "static:7"),
    ],
)
def test_methods(owner, name, value):
    """Bound as the function would be: called directly, in a registry, and without self in the schema."""
    bound = getattr(owner, name)
    assert bound("7") == bound(ticket="7") == value
    registry = Registry([bound])
    assert list(registry[name].input_schema["properties"]) == ["ticket"]
    assert registry[name].call({"ticket": "7"}) == value
    [result] = registry.dispatch({"name": name, "arguments": {"ticket": "7"}})
    assert result.value == value
    assert list(inspect.signature(bound).parameters) == ["ticket"]


def test_async_methods():
    """A bound coroutine method is a coroutine function to inspect."""
    assert inspect.iscoroutinefunction(Desk("d").later)
    assert asyncio.run(Desk("d").later("7")) == Desk("d").later.call({"ticket": "7"}) == "d:7"


def test_a_method_of_no_object_cannot_be_called_or_registered():
    """The way out is in the message."""
    with pytest.raises(UsageError, match="get it from an object"):
        Desk.close.call({"ticket": "7"})
    with pytest.raises(UsageError, match="get it from an object"):
        Registry([Desk.close])
    assert Desk.close(Desk("x"), "7") == "x:7"


def test_a_function_of_the_module_in_a_class_stays_itself():
    """Grouping tools in a class does not take their first parameter away from the others."""

    @tool
    def find(place: str) -> str:
        return place

    class Group:
        found = find

    assert list(find.input_schema["properties"]) == ["place"]
    assert find.call({"place": "a"}) == "a"
    assert Group.found is find


def test_the_decorated_function_stays_what_it_was():
    """Name, docstring, signature, coroutine-ness, and a call by position."""

    @tool(name="other", title="Other")
    async def fetch(url: str, *, depth: int = 1) -> str:
        """Fetch."""
        return url

    assert isinstance(fetch, Tool)
    assert (fetch.__name__, fetch.__doc__, fetch.name, fetch.title) == (
        "fetch",
        "Fetch.",
        "other",
        "Other",
    )
    assert str(inspect.signature(fetch)) == "(url: str, *, depth: int = 1) -> str"
    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(fetch("a")) == "a"
    assert not inspect.iscoroutinefunction(tool(name="n")(lambda: None))


def test_copies_and_pickles_are_those_of_a_function():
    """A registry in a deep-copied configuration, a tool sent to another process."""
    from test_dispatch import add

    assert copy.copy(add) is copy.deepcopy(add) is pickle.loads(pickle.dumps(add)) is add
    desk = Desk("d")
    for twin in (
        copy.copy(desk.close),
        copy.deepcopy(desk.close),
        pickle.loads(pickle.dumps(desk.close)),
    ):
        assert twin("7") == twin.call({"ticket": "7"}) == "d:7"


def test_a_direct_call_costs_one_python_call_more():
    """Counted, not timed."""

    @tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    calls = []
    sys.setprofile(
        lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None
    )
    try:
        add(1, b=2)
    finally:
        sys.setprofile(None)
    assert calls == ["__call__", "add"]


POSTPONED = """
    from __future__ import annotations
    from typing import TYPE_CHECKING, Annotated
    from pydantic import BaseModel, Field
    from toolshape import Injected, tool
    if TYPE_CHECKING:
        from nowhere import Db

    def make():
        class Local(BaseModel):
            n: int
        class Inner:
            class Own(BaseModel):
                s: str
            @tool
            def method(self, x: Local, y: Own | None = None, db: Injected[Db] = None) -> Annotated[Local, "out"]:
                return x
        @tool
        def function(x: list[Local], y: Annotated[int, Field(ge=1)] = 1) -> Local:
            return x[0]
        return Inner().method, function

    method, function = make()

    @tool
    def early(later: Later) -> Later:
        return later

    class Later(BaseModel):
        n: int

    @tool
    def never(x: Nowhere): ...
"""


def test_postponed_annotations(tmp_path, monkeypatch):
    """PEP 563 strings: local classes, names of a class body, names defined later, names for type checkers only."""
    (tmp_path / "postponed.py").write_text(textwrap.dedent(POSTPONED))
    monkeypatch.syspath_prepend(tmp_path)
    import postponed

    assert postponed.method.call({"x": {"n": 1}, "y": {"s": "a"}}).n == 1
    assert postponed.method.output_schema["properties"]["n"] == {"type": "integer"}
    assert list(postponed.method.input_schema["properties"]) == ["x", "y"]
    assert postponed.function.call({"x": [{"n": 1}]}).n == 1
    assert postponed.early.call({"later": {"n": 2}}).n == 2
    with pytest.raises(DefinitionError, match="x: name 'Nowhere' is not defined"):
        postponed.never.input_schema
    with pytest.raises(DefinitionError, match="Nowhere"):
        Registry([postponed.never])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 needs Python 3.12")
def test_type_parameters(tmp_path, monkeypatch):
    """PEP 695: type parameters and aliases, recursive ones too."""
    (tmp_path / "pep695.py").write_text(
        textwrap.dedent("""
            from toolshape import tool
            type Json = dict[str, Json] | list[Json] | int | None
            @tool
            def walk[T: int](tree: Json, first: T) -> Json:
                return tree
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    import pep695

    assert pep695.walk.call({"tree": {"a": [1, None]}, "first": 1}) == {"a": [1, None]}


def test_defaults_are_the_functions_own_objects():
    """As in Python: not validated, whatever they are; but what a call may change is each call's own."""
    shared = [1]
    missing = object()

    @tool
    def keep(a: list[int] = shared, b: object = missing, c: int = None, d: int = "not an int"):
        return a, b, c, d

    value = keep.call({})
    assert value[0] == shared
    assert value[0] is not shared
    assert value[1] is missing
    assert value[2:] == (None, "not an int")
    properties = keep.input_schema["properties"]
    assert properties["a"]["default"] == [1]
    assert "default" not in properties["b"]
    assert "default" not in properties["c"]
    assert "required" not in keep.input_schema


def test_kwargs_cannot_reach_past_the_signature():
    """Extra fields that name a parameter, an injected one too, are refused."""

    @tool
    def log(level: int, /, text: str, *, db: Injected[Connection], **fields: int) -> dict:
        return fields

    db = Connection()
    assert log.call({"level": 1, "text": "a", "n": 1}, inject={"db": db}) == {"n": 1}
    with pytest.raises(CallError, match="db: unknown field"):
        log.call({"level": 1, "text": "a", "db": 1}, inject={"db": db})
    assert log.call({"level": 1, "text": "a", "fields": 1}, inject={"db": db}) == {"fields": 1}
    assert log.call({"level": 1, "text": "a", "n": "1"}, inject={"db": db}) == {"n": 1}
    with pytest.raises(CallError, match="db: unknown field"):  # on the slow path too
        log.call({"level": "1", "text": "a", "db": 1}, inject={"db": db})
    fixed = tool(functools.partial(log.function, 1, tenant=7))
    for name in ("tenant", "level"):
        with pytest.raises(CallError, match=f"{name}: unknown field"):
            fixed.call({"text": "a", name: 1}, inject={"db": db})


class Basket(BaseModel):
    items: list[str] = []


@pytest.mark.parametrize(
    "default", [[], ["x"], {}, {"x": ["y"]}, set(), {"x"}, Basket(), Basket(items=["x"])]
)
def test_a_mutable_default_belongs_to_each_call(default):
    """What one user's call puts into it, no other user's call gets."""
    before = copy.deepcopy(default)

    def keep(a=default):
        got = copy.deepcopy(a)
        items = a.items if isinstance(a, Basket) else a
        items.update({"new": ["ann"]}) if isinstance(a, dict) else getattr(
            items, "append", getattr(items, "add", None)
        )("ann")
        return got

    keep.__annotations__["a"] = type(default)
    made = tool(keep)
    assert [made.call({}), made.call({})] == [before, before]
    assert default == before
    Registry([made]).bind("openai").export()
    assert made.call({}) == before


def test_what_cannot_be_copied_is_shared():
    """As the default of a function is, in Python."""

    class Lock:
        __hash__ = None

        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    lock = Lock()

    def keep(a: Any = lock):
        return a is lock

    assert tool(keep).call({}) is True


def test_a_partial_of_a_single_dispatch_function():
    """It looks at its first argument's type, and is given it by position."""

    @functools.singledispatch
    def show(value: int, sep: str = "-", times: int = 1) -> str:
        return sep.join([str(value)] * times)

    bound = functools.partial(show, times=2)
    assert tool(name="show")(bound).call({"value": 5}) == "5-5"
    assert tool(name="show")(functools.partial(bound, sep="+")).call({"value": 5}) == "5+5"
    assert tool(name="show")(functools.partial(show, 7)).call({"times": 2}) == "7-7"


def of_framework(module: str, name: str) -> type:
    return type(name, (), {"__module__": module})


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("agents.run_context", "RunContextWrapper"), ("agents.tool_context", "ToolContext"),
        ("pydantic_ai._run_context", "RunContext"), ("langgraph.prebuilt.tool_node", "ToolRuntime"),
        ("mcp.server.fastmcp.server", "Context"), ("mcp.server.mcpserver.context", "Context"),
        ("fastmcp.server.context", "Context"), ("google.adk.tools.tool_context", "ToolContext"),
        ("langchain_core.runnables.config", "RunnableConfig"), ("strands.types.tools", "ToolContext"),
    ],
)  # fmt: skip
def test_the_context_of_a_framework_is_no_parameter_for_a_model(module, name):
    """It is hidden and injected, behind ``Optional`` and ``Annotated``, too."""
    context = of_framework(module, name)
    given = context()
    injected = (
        context,
        Optional[context],
        Annotated[context, "text"],
        type("Mine", (context,), {}),
        Injected[context],
    )
    for annotation in injected:

        def look(ctx, text: str = ""):
            return ctx, text

        look.__annotations__["ctx"] = annotation
        made = tool(look)
        assert list(made.input_schema["properties"]) == ["text"]
        assert made.call({"text": "a"}, inject={"ctx": given}) == (given, "a")
        with pytest.raises(UsageError, match="ctx"):
            made.call({"text": "a"})


def test_a_marker_of_langchain_is_no_parameter_for_a_model():
    """As the class or as an object; a class of the same name elsewhere is anybody's."""
    state = of_framework("langgraph.prebuilt.tool_node", "InjectedState")
    for marker in (state, state()):

        def look(state, text: str = ""): ...

        look.__annotations__["state"] = Annotated[dict, marker]
        assert list(tool(look).input_schema["properties"]) == ["text"]

    def own(ctx: Basket): ...

    own.__annotations__["ctx"] = type("Context", (Basket,), {"__module__": "mcpish.server"})
    assert tool(own).input_schema["required"] == ["ctx"]


def test_system_exit_in_a_tool_does_not_end_the_loop():
    """``acall`` answers it as ``call`` does, whether the tool is async or runs in a thread."""

    @tool
    async def leave():
        sys.exit(2)

    @tool
    def leave_too():
        raise SystemExit

    async def server():
        codes = []
        for made in (leave, leave_too):
            with pytest.raises(CallError) as caught:
                await made.acall({})
            codes.append(caught.value.code)
        return codes

    assert asyncio.run(server()) == ["tool_crashed", "tool_crashed"]
