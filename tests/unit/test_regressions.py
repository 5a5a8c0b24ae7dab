"""Cases that went wrong once, or are likely to."""

import asyncio
import copy
import functools
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator
from pathlib import Path
from typing import Annotated, Any, Optional

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict
from zoo import Line, Open, Point

from toolshape import CallError, DefinitionError, Injected, Registry, ToolError, UsageError, tool
from toolshape._function.docstrings import read_docstring


def dispatch(function: Any, arguments: Any = None, **options: Any):
    [result] = Registry([function]).dispatch(
        {"name": tool(function).name, "arguments": arguments or {}}, **options
    )
    return result


def refused(function: Any, arguments: Any) -> list[str]:
    error = dispatch(function, arguments).error
    assert error is not None
    assert error.code == "invalid_arguments", error.code
    return [problem.path for problem in error.problems]


def test_underscores_alone_are_names():
    """``_`` once made the search for a field name endless."""

    def f(_: int, __: int = 2, *___: int) -> list[int]:
        return [_, __, *___]

    assert tool(f).call({"_": 1, "__": 3, "___": [4]}) == [1, 3, 4]


def test_a_tuple_that_is_too_short():
    """An error at a place that is not there."""

    def f(t: tuple[int, str], *rest: tuple[int, str]) -> Any:
        return t

    assert refused(f, {"t": [1]}) == ["t[1]"]
    assert refused(f, {"t": [1, "a"], "rest": [[1]]}) == ["rest[0][1]"]


class Keyed(TypedDict):
    a: int


@pytest.mark.parametrize(
    ("annotation", "written", "path"),
    [
        (Optional[Line], {"sku": "a", "typo": 1}, "x.typo"),
        (list[Line] | None, [{"sku": "a", "typo": 1}], "x[0].typo"),
        (Line | list[Open] | None, {"sku": "a", "typo": 1}, "x.typo"),
        (Keyed, {"a": 1, "typo": 1}, "x.typo"),
        (Point, {"lat": 1.0, "typo": 1}, "x.typo"),
    ],
)
def test_closed_models_stay_closed_beside_open_ones(annotation, written, path):
    """In a tool with **kwargs, where pydantic cannot distinguish them at run time."""

    def f(x, **more: int):
        return x

    f.__annotations__["x"] = annotation
    assert refused(f, {"x": written}) == [path]
    assert tool(f).input_schema["additionalProperties"] == {"type": "integer"}


def test_what_a_partial_fixed_is_no_models_to_set():
    """By keyword into **kwargs too."""

    def f(a: int, **more: int) -> dict[str, int]:
        return more

    assert refused(functools.partial(f, z=1), {"a": 1, "z": 5}) == ["z"]
    assert dispatch(functools.partial(f, z=1), {"a": 1, "y": 5}).value == {"z": 1, "y": 5}


@pytest.mark.parametrize("error", [ToolError(KeyError("x")), ToolError("")])
def test_a_tool_error_says_something(error):
    """Whatever was given as its text."""

    def f() -> None:
        raise error

    assert dispatch(f).text in ("'x'", "f failed without giving a reason.")


class BareError(ToolError):
    def __init__(self) -> None:
        pass


def test_a_tool_error_of_ones_own_without_a_text():
    """A subclass that forgot its base."""

    def f() -> None:
        raise BareError

    assert dispatch(f).text == "f failed without giving a reason."


@pytest.mark.parametrize("name", [None, 5, ["x"], {}])
def test_names_that_are_none(name):
    """A gateway may send anything; every call has its answer."""
    block = {"type": "tool_use", "id": "t", "input": {}, "name": name}
    [result] = Registry([tool(name="x")(lambda: 1)]).dispatch(
        {"type": "message", "content": [block]}
    )
    assert result.error.code == "unknown_tool"
    call = {"id": "c", "function": {"name": name, "arguments": "{}"}}
    [result] = Registry([tool(name="x")(lambda: 1)]).dispatch(
        {"choices": [{"message": {"tool_calls": [call]}}]}
    )
    assert result.error.code == "unknown_tool"


@pytest.mark.parametrize("annotation", [Iterator, Generator, AsyncIterator, Awaitable])
def test_bare_generics_as_results(annotation):
    """``-> Iterator`` says nothing of what is in it."""

    def f():
        return iter([1])

    f.__annotations__["return"] = annotation
    tool(f).output_schema
    assert dispatch(f).value == [1]


def test_a_sync_tool_does_not_see_its_async_siblings():
    """It runs outside the loop that they need."""

    def alone() -> int:
        return asyncio.run(asyncio.sleep(0, 5))

    async def sibling() -> int:
        return 1

    results = Registry([alone, sibling]).dispatch(
        [{"name": n, "arguments": {}} for n in ("alone", "sibling", "alone")]
    )
    assert [result.unwrap() for result in results] == [5, 1, 5]


async def inner(x: int) -> int:
    return x


@functools.wraps(inner)
def run_inner(x: int) -> int:
    return asyncio.run(inner(x))


def test_a_wrapper_of_another_kind():
    """What is called decides, not what it wraps."""
    assert dispatch(run_inner, {"x": 5}).value == 5
    [result] = asyncio.run(
        Registry([run_inner]).adispatch({"name": "inner", "arguments": {"x": 5}})
    )
    assert result.value == 5

    def later(n: int) -> AsyncIterator[int]:
        async def agen() -> AsyncIterator[int]:
            for i in range(n):
                yield i

        return agen()

    assert dispatch(later, {"n": 2}).value == [0, 1]
    [result] = asyncio.run(Registry([later]).adispatch({"name": "later", "arguments": {"n": 2}}))
    assert result.value == [0, 1]


def test_a_timeout_covers_what_a_plain_function_returns():
    """An awaitable is awaited within it."""
    slow = tool(name="slow", timeout=0.05)(lambda: asyncio.sleep(5))
    [result] = asyncio.run(Registry([slow]).adispatch({"name": "slow", "arguments": {}}))
    assert result.error.code == "tool_timeout"
    with pytest.raises(CallError, match=r"within 0\.05 s"):
        asyncio.run(slow.acall({}))


def test_two_drivers_at_once_run_each_call_once():
    """A plan is claimed before anything waits."""
    seen = []

    async def note() -> None:
        seen.append(1)
        await asyncio.sleep(0)

    plan = Registry([note]).bind("json-schema").plan({"name": "note", "arguments": {}})

    async def both():
        await asyncio.gather(plan.arun(), plan.arun())

    asyncio.run(both())
    assert seen == [1]


def test_a_single_call_that_is_cancelled_from_outside():
    """The cancellation goes on, also where there is no other call."""

    async def hang() -> None:
        await asyncio.sleep(30)

    async def main():
        plan = Registry([hang]).bind("json-schema").plan({"name": "hang", "arguments": {}})
        task = asyncio.create_task(plan.arun())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return plan.results

    assert asyncio.run(main())[0].error.code == "cancelled"


def test_a_timeout_stops_an_async_tool():
    """It is cancelled, and not left running."""
    stopped = threading.Event()

    @tool(timeout=0.02)
    async def hang() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    async def main():
        results = await Registry([hang]).adispatch({"name": "hang", "arguments": {}})
        await asyncio.sleep(0.02)
        return results[0].error.code, stopped.is_set()

    assert asyncio.run(main()) == ("tool_timeout", True)


def test_two_parameters_with_one_alias():
    """One value for two."""

    def f(m: Annotated[int, Field(alias="n")], n: int = 1) -> None: ...

    with pytest.raises(DefinitionError, match="n: two parameters have this name"):
        tool(f)

    def g(_m: Annotated[int, Field(alias="q")]) -> int:
        return _m

    assert tool(g).call({"q": 1}) == 1


@pytest.mark.parametrize(
    ("annotation", "text"), [(int, "9" * 5000), (float, "1e999"), (float, "9" * 400)]
)
def test_numbers_beyond_measure(annotation, text):
    """Neither a crash nor infinity."""

    def f(x):
        return x

    f.__annotations__["x"] = annotation
    assert refused(f, {"x": text}) == ["x"]


def test_arguments_too_deep_to_read():
    """The raw text is kept, the object is None."""
    plan = (
        Registry([tool(name="f")(lambda: 1)])
        .bind("json-schema")
        .plan({"name": "f", "arguments": "[" * 200_000})
    )
    assert plan.calls[0].arguments is None
    assert plan.calls[0].arguments_raw == "[" * 200_000
    assert plan.results[0].error is not None


def test_json_text_too_deep_to_read():
    """Where a provider is shown text for anything, what cannot be read stays the text it is."""

    def f(x: Any, y: dict) -> str:
        return x

    bound = Registry([f]).bind("anthropic", strict=True)
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "[" * 100_000, "y": "{}"}}
    [result] = bound.dispatch({"type": "message", "content": [block]})
    assert result.value == "[" * 100_000
    block["input"]["y"] = "[" * 100_000
    [result] = bound.dispatch({"type": "message", "content": [block]})
    assert result.error.code == "invalid_arguments"


def test_validators_that_crash():
    """Hidden, also by ``tool.call``."""

    def check(value: int) -> int:
        raise KeyError("SECRET")

    def f(x: Annotated[int, AfterValidator(check)]) -> int:
        return x

    with pytest.raises(CallError) as caught:
        tool(f).call({"x": 1})
    assert (caught.value.code, "SECRET" in str(caught.value)) == ("tool_crashed", False)


def test_secrets_are_no_defaults():
    """A masked default, echoed, would set the secret to asterisks."""

    class Inner(BaseModel):
        key: SecretStr = SecretStr("hidden")

    def f(key: SecretStr = SecretStr("hidden"), inner: Inner = Inner()) -> None: ...

    assert "*" not in json.dumps(tool(f).input_schema)


def test_a_lax_place_hides_no_other_slip():
    """Everything that is wrong in strict mode is reported."""

    def f(b: Annotated[str, BeforeValidator(lambda v: v)], urgent: bool, q: int) -> None: ...

    assert refused(f, {"b": "x", "urgent": "true", "q": "z"}) == ["urgent", "q"]


@pytest.mark.slow
def test_defaults_are_the_same_in_every_process():
    """Sets in lists, maps and models too."""
    script = (
        "import json, pydantic, toolshape\n"
        "class M(pydantic.BaseModel):\n    tags: set[str] = {'a', 'b', 'c'}\n"
        "def f(m: M = M(), l: list[set[str]] = [{'x', 'y', 'z'}], d: dict[str, set[str]] = {'k': {'q', 'w'}}): ...\n"
        "print(json.dumps(toolshape.tool(f).input_schema))"
    )
    root = str(Path(__file__).parents[2])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(outputs) == 1


class Desk:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    @tool
    def close(self, ticket: str) -> str:
        """Close."""
        return f"{self.prefix}{ticket}"

    @tool
    @functools.cache  # noqa: B019
    def cached(self, ticket: str) -> str:
        return f"{self.prefix}{ticket}"


def test_tools_of_tools():
    """Renamed, they are bound as they were."""
    again = tool(name="shut", description="Shut.")(Desk("d").close)
    assert (again.name, again.description, list(again.input_schema["properties"])) == (
        "shut",
        "Shut.",
        ["ticket"],
    )
    assert again.call({"ticket": "7"}) == "d7"
    assert (
        Registry([again]).dispatch({"name": "shut", "arguments": {"ticket": "7"}})[0].value == "d7"
    )
    assert Desk("d").cached.call({"ticket": "7"}) == "d7"
    desk = Desk("d")
    assert desk.close == desk.close
    assert hash(desk.close) == hash(desk.close)
    assert desk.close != Desk("d").close
    assert desk.close.description == desk.close.__doc__ == "Close."
    assert tool(name="p")(tool(functools.partial(inner, 1))).call({}) == 1


def test_odd_wrappers():
    """Of builtins, partials and objects; copied all the same; coroutine functions where they are."""

    @tool
    @functools.wraps(len)
    def length(*args: Any) -> int:
        return 1

    assert length.name == "len"
    wrapped = tool(functools.partial(inner, 1))
    assert inspect.iscoroutinefunction(wrapped)
    for made in (tool(Desk("d").close.function), wrapped):
        assert copy.copy(made) is made is copy.deepcopy(made)
    assert inspect.signature(type(wrapped)) is not None


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": "1"},
        {"name": ""},
        {"name": 5},
        {"coerce": {"no": True}},
    ],
)
def test_options_that_are_wrong(options):
    """Refused at decoration, as the function would be."""
    with pytest.raises(DefinitionError, match=next(iter(options))):
        tool(**options)(lambda: 1)


def test_a_single_tag():
    """A text is one tag, not its letters."""
    made = tool(name="a", tags="read")(lambda: 1)
    assert made.tags == {"read"}
    assert (
        list(Registry([made]).subset(tags="read"))
        == list(Registry([made]).subset(names="a"))
        == [made]
    )


def test_every_problem_of_every_parameter():
    """Those of the annotations and those of the types, together."""

    class Nothing: ...

    def f(a: Nothing, b: list[Injected[int]], _c: Nothing) -> None: ...

    with pytest.raises(DefinitionError) as caught:
        tool(f)
    assert {problem.path for problem in caught.value.problems} == {"a", "b", "_c"}


def test_plain_functions_with_local_types():
    """A registry resolves strings where it is called."""

    class Local(BaseModel):
        n: int

    def f(x: "Local") -> int:
        return x.n

    assert Registry([f])["f"].call({"x": {"n": 1}}) == 1
    registry = Registry()
    registry.add(f)
    assert registry["f"].call({"x": {"n": 1}}) == 1


def test_an_error_of_the_authors_under_pydantics_name():
    """Its own message is sent."""

    def check(value: str) -> str:
        raise PydanticCustomError("too_short", "say more")

    def f(x: Annotated[str, AfterValidator(check)]) -> None: ...

    assert dispatch(f, {"x": "a"}).text.endswith("x: say more")


DOCSTRINGS = [
    (
        "Do.\n\nArgs:\n    x (:obj:`int`, optional): The x.\n    y (Literal['a:b']): The y.",
        {"x": "The x.", "y": "The y."},
    ),
    (
        "Do.\n\nArgs:\n    x (int, default: 3): The x.\n    - y: The y.",
        {"x": "The x.", "y": "The y."},
    ),
    (
        "Do.\n\nArgs:\n    x: The x.\n    see the manual\n    y: The y.",
        {"x": "The x.\nsee the manual", "y": "The y."},
    ),
    (
        "Do.\n\n:param int | None x: The x.\n:param dict[str, int] y: The y.",
        {"x": "The x.", "y": "The y."},
    ),
    ("Do.\r\n\r\nArgs:\r\n    x: The x.\r\n    y: The y.", {"x": "The x.", "y": "The y."}),
    ("Do.\n\nReturns: The thing.", {}),
    ("Do.\n\nRaises: Nothing.", {}),
]


@pytest.mark.parametrize(("text", "parameters"), DOCSTRINGS)
def test_odd_docstrings(text, parameters):
    """Types with colons, lists, stray lines, other line ends, sections on a line."""
    doc = read_docstring(text, ("x", "y"))
    assert (doc.description, dict(doc.parameters)) == ("Do.", parameters)


def test_a_role_that_opens_a_line_is_text():
    """It looks like a field and is none."""
    doc = read_docstring("Do.\n\n:class:`Foo` is used here.\n\n:param x: The x.", ("x",))
    assert (doc.description, dict(doc.parameters)) == (
        "Do.\n\n:class:`Foo` is used here.",
        {"x": "The x."},
    )


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    identifier: str = Field(alias="_id", description="Said.")


def test_unknown_methods_of_registries_are_errors_of_use():
    """A method of no object, given to a registry or the command line."""
    with pytest.raises(UsageError, match="get it from an object"):
        Registry([Desk.close])


def test_exports_are_made_once(monkeypatch):
    """The second export of an unchanged registry rewrites nothing; a thousand tools are linear work."""
    from toolshape._schema import walk
    from toolshape._tools import export as showing

    visits = []
    visit = walk._Walk.visit
    monkeypatch.setattr(
        walk._Walk, "visit", lambda self, *a: (visits.append(1), visit(self, *a))[1]
    )

    def many(count: int) -> int:
        def f(a: int, b: dict[str, int], c: str = "x") -> None: ...

        registry = Registry(tool(name=f"t{i}")(f) for i in range(count))
        visits.clear()
        first = registry.export("openai", strict=True)
        made = len(visits)
        monkeypatch.setattr(showing, "compose", None)
        assert registry.export("openai", strict=True) == first
        monkeypatch.undo()
        monkeypatch.setattr(
            walk._Walk, "visit", lambda self, *a: (visits.append(1), visit(self, *a))[1]
        )
        assert len(visits) == made
        return made

    assert many(100) == 10 * many(10)


SETS = """
import enum, json
from typing import Annotated
from pydantic import BaseModel, Field
from toolshape import tool

class Choice(enum.Enum):
    ALL = frozenset({"x", "y", "z"})

class Model(BaseModel):
    model_config = {"json_schema_extra": {"examples": [{"tags": {"a", "b", "c"}}]}}
    tags: set[str] = Field({"q", "r", "s"}, examples=[{"a", "b", "c", "d"}])
    names: set[str] = Field(set(), json_schema_extra={"x-names": {"a", "b", "c", "d"}})

@tool
def take(m: Model = Model(), tags: Annotated[set[str], Field(examples=[{"a", "b", "c"}])] = {"l", "m", "n"}, c: Choice = Choice.ALL):
    "Take."

print(json.dumps(take.input_schema))
"""


@pytest.mark.slow
def test_sets_are_written_in_one_order():
    """In defaults, in examples and in further keys, whatever the seed of hashes is."""
    root = str(Path(__file__).parents[2])
    printed = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(printed) == 1
