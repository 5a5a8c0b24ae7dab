"""Times one call of a tool, by toolshape and by peers, in ratio to the floor of the same tool in the same process."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from peers import Peer
from rows import Row
from subjects import RESPONSES, SUBJECTS, WITH_CODE, Subject, openai_response
from timing import Effort, seconds_of_each, spread_of

from toolshape import Registry, tool

__all__ = ["call_rows", "ours"]

_GOALS: Mapping[str, Mapping[str, float]] = {
    "dispatch, lenient": {"scalar": 4.5, "nested": 2.2, "twelve optional": 3.5},
    "dispatch, strict, nulls for what is left out": {
        "scalar": 6,
        "nested": 3,
        "twelve optional": 5,
    },
    "tool.call(text)": {"scalar": 1.6, "nested": 1.2, "twelve optional": 1.4},
    "dispatch with one coercion": {"scalar": 12, "nested": 6, "twelve optional": 10},
    "adispatch of an async tool": {"scalar": 6, "nested": 3, "twelve optional": 5},
}


def call_rows(effort: Effort, peers: Sequence[Peer]) -> Iterator[Row]:
    """Time every way to make a call; all ways and peers take turns."""
    loop = asyncio.new_event_loop()
    for subject in (*SUBJECTS, *WITH_CODE):
        callables = {"floor": floor_of(subject), **ours(subject)}
        theirs = {_label(peer): _peer_call(peer, subject, loop) for peer in peers}
        callables |= {name: run for name, run in theirs.items() if run is not None}
        seconds = seconds_of_each(callables, effort, loop)
        floors = seconds.pop("floor")
        notes = {_label(peer): f"leaves out {peer.leaves_out}" for peer in peers}
        for way, times in seconds.items():
            ratios = [duration / floor for duration, floor in zip(times, floors, strict=True)]
            goal = _GOALS.get(way, {}).get(subject.name)
            yield Row(
                part="call",
                what=way,
                subject=subject.name,
                spread=spread_of(ratios),
                goal=goal,
                note=notes.get(way, ""),
            )
    loop.close()


def floor_of(subject: Subject) -> Callable[[], Any]:
    """Return a function that does the least work that a call needs."""
    validate_json = subject.tool().model.__pydantic_validator__.validate_json
    floor = subject.floor(validate_json, subject.function, json.dumps(subject.given))
    assert floor() == subject.wanted
    return floor


def ours(subject: Subject) -> dict[str, Callable[[], Any]]:
    """Return toolshape's ways to make a call, after a check that each way gives the right value."""
    sync_tool, async_tool = subject.tool(), tool(as_async(subject.function))
    text, registry = json.dumps(subject.given), Registry([sync_tool])
    lenient, strict = registry.bind("openai", strict=False), registry.bind("openai", strict=True)
    async_bound = Registry([async_tool]).bind("openai", strict=False)
    plain_response, nulled_response = (
        openai_response(sync_tool.name, arguments) for arguments in (subject.given, subject.nulled)
    )

    async def adispatch() -> Any:
        return (await async_bound.adispatch(plain_response)).messages

    ways: dict[str, Callable[[], Any]] = {
        "dispatch, lenient": lambda: lenient.dispatch(plain_response).messages,
        "dispatch, strict, nulls for what is left out": lambda: (
            strict.dispatch(nulled_response).messages
        ),
        "tool.call(text)": lambda: sync_tool.call(text),
        "adispatch of an async tool": adispatch,
    }
    for provider, response in RESPONSES.items():
        body, bound = response(sync_tool.name, subject.given), registry.bind(provider, strict=False)
        assert bound.dispatch(body)[0].value == subject.wanted
        ways[f"dispatch, {provider}"] = lambda bound=bound, body=body: bound.dispatch(body).messages
    assert sync_tool.call(text) == subject.wanted
    assert [
        strict.dispatch(nulled_response)[0].value,
        lenient.dispatch(plain_response)[0].value,
    ] == [subject.wanted] * 2
    if subject.slipped is not None:
        slipped_response = openai_response(sync_tool.name, subject.slipped)
        [result] = lenient.dispatch(slipped_response)
        assert (result.value, len(result.coercions)) == (subject.wanted, 1)
        ways["dispatch with one coercion"] = lambda: lenient.dispatch(slipped_response).messages
    return ways


def as_async(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function as a coroutine function."""

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        setattr(awaited, attribute, getattr(function, attribute))
    awaited.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return awaited


def _label(peer: Peer) -> str:
    return f"{peer.name}{', async tool' if peer.is_async else ''}{'' if peer.validates else ' (does not validate)'}"


def _peer_call(
    peer: Peer, subject: Subject, loop: asyncio.AbstractEventLoop
) -> Callable[[], Any] | None:
    """Return a function that calls a peer's tool; ``None`` if the call does not give the right value."""
    function = as_async(subject.function) if peer.is_async else subject.function
    try:
        run = peer.caller(peer.define(function), json.dumps(subject.given))
        value = loop.run_until_complete(run()) if inspect.iscoroutinefunction(run) else run()
    except Exception:
        return None
    return run if value == subject.wanted else None
