"""Measures what a tool costs besides its calls: definition, export, import and memory, and how these costs grow."""

import ast
import asyncio
import gc
import inspect
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import FunctionType
from typing import Annotated, Any

import docstring_parser
from calls import floor_of
from peers import Peer
from pydantic import Field, create_model
from rows import Row
from subjects import SUBJECTS, WITH_CODE, Subject, openai_response
from timing import Effort, Spread, fitted_exponent, seconds_of_each, spread_of

import toolshape
from toolshape import Registry, Tool, tool
from toolshape._families import get
from toolshape._families.wire.provider import Provider

__all__ = ["definition_rows", "export_rows", "growth_rows", "import_rows", "memory_rows"]

WITHOUT_GOAL = "no arguments"


def unlimited(name: str) -> Provider:
    """Return a provider that accepts any number of tools in a request."""
    return replace(
        get(name),
        request=replace(
            get(name).request,
            most_tools=None,
        ),
    )


def clones(function: Callable[..., Any], count: int) -> list[Callable[..., Any]]:
    """Return ``count`` functions with the same code, each with its own name."""
    return [_clone(function, f"{function.__name__}_{number}") for number in range(count)]


def _clone(function: Any, name: str) -> Callable[..., Any]:
    clone = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    clone.__annotations__, clone.__doc__ = dict(function.__annotations__), function.__doc__
    clone.__module__, clone.__qualname__ = function.__module__, name
    return clone


# --- definition ---------------------------------------------------------------------------------------------------


def _model_of(function: Any) -> Any:
    fields: dict[str, Any] = {
        name: (
            parameter.annotation,
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in inspect.signature(function).parameters.items()
    }
    return create_model(function.__name__, **fields)


def _described_model_of(function: Any) -> Any:
    """Return the model that a tool of this function holds, with descriptions of its fields."""
    descriptions = {
        param.arg_name: param.description
        for param in docstring_parser.parse(function.__doc__).params
    }
    fields: dict[str, Any] = {
        name: (
            Annotated[parameter.annotation, Field(description=descriptions.get(name))],
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in inspect.signature(function).parameters.items()
    }
    return create_model(function.__name__, **fields)


def _define_at_least(function: Any) -> Any:
    docstring_parser.parse(function.__doc__)
    return _model_of(function).model_json_schema()


def definition_rows(effort: Effort, peers: Sequence[Peer]) -> Iterator[Row]:
    """Define the same function again and again; the page names the peers that inspect the function only at export."""
    loop = asyncio.new_event_loop()
    for subject in SUBJECTS:
        function = subject.function
        ways: dict[str, Callable[[], Any]] = {
            "floor": lambda function=function: _define_at_least(
                _clone(function, function.__name__)
            ),
            "@tool": lambda function=function: tool(_clone(function, function.__name__)),
        }
        for peer in peers:
            way = lambda peer=peer, function=function: peer.define(  # noqa: E731
                _clone(function, function.__name__)
            )
            try:
                way()
            except Exception:  # a function that the peer cannot define has no row
                continue
            ways[peer.name] = way
        seconds = seconds_of_each(ways, effort, loop)
        floors = seconds.pop("floor")
        goal = None if subject.name == WITHOUT_GOAL else 1.3
        for way_name, times in seconds.items():
            ratios = [duration / floor for duration, floor in zip(times, floors, strict=True)]
            yield Row(
                part="definition",
                what=way_name,
                subject=subject.name,
                spread=spread_of(ratios),
                goal=goal if way_name == "@tool" else None,
            )
    loop.close()
    yield from _first_call_rows(effort)


def _first_call_rows(effort: Effort) -> Iterator[Row]:
    """Define a tool with a validator and call it once: the first call compiles what its check needs."""
    loop = asyncio.new_event_loop()
    for subject in WITH_CODE:
        function = subject.function
        texts = {
            "valid": json.dumps(subject.given),
            "with one coercion": json.dumps(subject.slipped),
        }
        ways: dict[str, Callable[[], Any]] = {
            "floor": lambda function=function: _define_at_least(
                _clone(function, function.__name__)
            ),
            **{
                f"@tool, and the first call, {name}": lambda function=function, text=text: tool(
                    _clone(function, function.__name__)
                ).call(text)
                for name, text in texts.items()
            },
        }
        seconds = seconds_of_each(ways, effort, loop)
        floors = seconds.pop("floor")
        for way_name, times in seconds.items():
            ratios = [duration / floor for duration, floor in zip(times, floors, strict=True)]
            yield Row(
                part="definition", what=way_name, subject=subject.name, spread=spread_of(ratios)
            )
    loop.close()


# --- export -------------------------------------------------------------------------------------------------------


def export_rows(effort: Effort, peers: Sequence[Peer], count: int = 1000) -> Iterator[Row]:
    """Export the same tools again and again, as for each request."""
    loop = asyncio.new_event_loop()
    provider = unlimited("openai")
    [scalar, *_] = SUBJECTS
    registry = Registry([tool(clone) for clone in clones(scalar.function, count)])
    registry.export(provider)
    ways: dict[str, Callable[[], Any]] = {"registry.export": lambda: registry.export(provider)}
    for peer in peers:
        try:
            export = peer.exporter([peer.define(clone) for clone in clones(scalar.function, count)])
            loop.run_until_complete(export()) if inspect.iscoroutinefunction(export) else export()
        except Exception:  # a peer that cannot export the tools has no row
            continue
        ways[peer.name] = export
    short_effort = replace(effort, rounds=min(effort.rounds, 9))
    for way_name, times in seconds_of_each(ways, short_effort, loop).items():
        spread = spread_of([duration / count * 1e6 for duration in times])
        goal = 15 if way_name == "registry.export" else None
        yield Row(part="export", what=way_name, subject=f"{count} tools", spread=spread, goal=goal)
    loop.close()


# --- import -------------------------------------------------------------------------------------------------------


def imported_names() -> str:
    """Return the statements with which ``import toolshape`` imports pydantic and docstring-parser."""
    folder = Path(toolshape.__file__).parent
    script = "import sys, toolshape; print(*[n for n in sys.modules if n.startswith('toolshape.')])"
    completed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    statements: dict[str, None] = {}
    for module in completed.stdout.split():
        path = folder.parent.joinpath(*module.split("."))
        source = (
            path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        )
        for node in ast.parse(source.read_text()).body:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if any(
                name.partition(".")[0] in ("pydantic", "pydantic_core", "docstring_parser")
                for name in names
            ):
                statements[ast.unparse(node)] = None
    return "\n".join(statements)


def import_rows(rounds: int, peers: Sequence[Peer]) -> Iterator[Row]:
    """Time imports in fresh processes, in turns."""
    statements = {
        "floor": imported_names(),
        "from toolshape import Registry, tool": "from toolshape import Registry, tool",
    }
    statements |= {peer.name: peer.statement for peer in peers}
    times_by_label: dict[str, list[float]] = {label: [] for label in statements}
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    for number in range(rounds + 1):
        for label, statement in statements.items():
            code = f"from time import perf_counter\nstarted = perf_counter()\n{statement}\nprint(perf_counter() - started)"
            completed = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            if number:  # the first round writes the bytecode
                times_by_label[label].append(float(completed.stdout.split()[-1]))
    floors = times_by_label.pop("floor")
    for label, times in times_by_label.items():
        ratios = [duration / floor for duration, floor in zip(times, floors, strict=True)]
        goal = 1.2 if label.startswith("from toolshape") else None
        yield Row(
            part="import", what=label, subject="fresh process", spread=spread_of(ratios), goal=goal
        )


# --- memory -------------------------------------------------------------------------------------------------------


def memory_rows(count: int = 300) -> Iterator[Row]:
    """Count the bytes that Python allocates for tools that are defined and exported, and for their models alone."""
    for subject in SUBJECTS:
        functions = clones(subject.function, count)
        tools = _bytes_of(
            lambda functions=functions: _export_all([tool(function) for function in functions])
        )
        models = _bytes_of(
            lambda functions=functions: [_described_model_of(function) for function in functions]
        )
        kilobytes = (tools - models) / count / 1000
        goal = None if subject.name == WITHOUT_GOAL else 20
        spread = Spread(median=kilobytes, low=kilobytes, high=kilobytes)
        yield Row(part="memory", what="a tool", subject=subject.name, spread=spread, goal=goal)


def _export_all(tools: Sequence[Tool[..., Any]]) -> Registry:
    registry = Registry(tools)
    registry.export(unlimited("openai"))
    return registry


def _bytes_of(make: Callable[[], Any]) -> int:
    make()  # fills the lasting caches, which count for no tool
    gc.collect()
    tracemalloc.start()
    held_objects = make()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del held_objects
    return size


# --- growth -------------------------------------------------------------------------------------------------------


def growth_rows(most_tools: int = 10_000, most_properties: int = 5_000) -> Iterator[Row]:
    """Fit how costs grow with the number of tools and of properties."""
    [scalar, *_] = SUBJECTS
    sizes = [size for size in (100, 300, 1_000, 3_000, 10_000) if size <= most_tools]
    yield from _exponents("tools", sizes, lambda size: _time_tools(scalar, size))
    counts = [size for size in (300, 1_000, 2_500, 5_000) if size <= most_properties]
    yield from _exponents("properties", counts, _time_properties)
    small_registry, large_registry = (
        Registry(map(tool, clones(scalar.function, size))) for size in (10, sizes[-1])
    )
    ways: dict[str, Callable[[], Any]] = {}
    for size, registry in ((10, small_registry), (sizes[-1], large_registry)):
        bound = registry.bind(unlimited("openai"), strict=False)
        response = openai_response(f"{scalar.function.__name__}_7", scalar.given)
        assert bound.dispatch(response).ok
        ways[str(size)] = lambda bound=bound, response=response: bound.dispatch(response).messages
    loop = asyncio.new_event_loop()
    seconds = seconds_of_each({"floor": floor_of(scalar), **ways}, Effort(), loop)
    loop.close()
    ratios = [
        large_time / small_time
        for small_time, large_time in zip(seconds["10"], seconds[str(sizes[-1])], strict=True)
    ]
    what = f"dispatch among {sizes[-1]} tools, in ratio to 10"
    yield Row(part="growth", what=what, subject="tools", spread=spread_of(ratios), goal=1.1)


_LARGE = 1_000


def _exponents(
    subject: str, sizes: Sequence[int], measure: Callable[[int], Mapping[str, float]]
) -> Iterator[Row]:
    measure(sizes[0])
    measurements = [
        {label: min(repeat[label] for repeat in repeats) for label in repeats[0]}
        for repeats in ([measure(size) for _ in range(1 if size > _LARGE else 2)] for size in sizes)
    ]
    for label in measurements[0]:
        slope = fitted_exponent(sizes, [measurement[label] for measurement in measurements])
        note = f"{sizes[0]} to {sizes[-1]}: {measurements[0][label] * 1e3:.1f} to {measurements[-1][label] * 1e3:.0f} ms"
        spread = Spread(median=slope, low=slope, high=slope)
        yield Row(part="growth", what=label, subject=subject, spread=spread, goal=1.2, note=note)


def _time_tools(subject: Subject, size: int) -> Mapping[str, float]:
    functions, provider = clones(subject.function, size), unlimited("openai")
    timed: dict[str, float] = {}
    tools = _time(timed, "definition", lambda: [tool(function) for function in functions])
    registry = _time(timed, "registry", lambda: Registry(tools))
    bound = _time(timed, "export, strict", lambda: registry.bind(provider, strict=True))
    _time(timed, "report", lambda: str(bound.report()))
    return timed


def _time_properties(size: int) -> Mapping[str, float]:
    fields: dict[str, Any] = {f"field_{number}": (int, 3) for number in range(size - 1)}
    model = create_model("Wide", **fields)

    def take(wide: Any) -> int:
        return len(wide.model_fields_set)

    take.__annotations__["wide"] = model
    timed: dict[str, float] = {}
    wide_tool = _time(timed, "definition of a model", lambda: tool(take))
    for strict in (False, True):
        bound = _time(
            timed,
            f"its export, {'strict' if strict else 'lenient'}",
            lambda strict=strict: Registry([wide_tool]).bind(unlimited("openai"), strict=strict),
        )
    _time(timed, "its report", lambda: str(bound.report()))
    return timed


def _time(timed: dict[str, float], what: str, work: Callable[[], Any]) -> Any:
    gc.collect()
    started = perf_counter()
    value = work()
    timed[what] = perf_counter() - started
    return value
