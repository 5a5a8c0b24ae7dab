"""A response's calls in, planned; run, and their results out. One body, two drivers."""

import asyncio
import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from toolshape.bodies import made_up_id, seed_of
from toolshape.calls import Call, Coercion, Finish, Result, Results, WireCall
from toolshape.errors import CallError, Problem
from toolshape.parts import Part, Text, as_text, parts_of
from toolshape.provider import Provider, Reading
from toolshape.running import (
    NOTHING_INJECTED,
    as_call_error,
    hidden,
    is_async,
    refuse_running_loop,
    run,
    run_async,
    validator_failed,
)
from toolshape.shape import Shape

__all__ = ["Plan"]

_PLAIN = frozenset({str, int, float, bool, type(None), dict})


class Ready(NamedTuple):
    """A call that may run: named home, its arguments valid."""

    position: int
    call: Call
    shape: Shape
    model: BaseModel
    coercions: tuple[Coercion, ...]


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` are all of them; ``results`` has an answer for each at any time: what failed to validate is answered
    already, what has not finished reads as ``cancelled``.
    """

    __slots__ = ("_answers", "_ready", "calls", "results")

    def __init__(self, provider: Provider, reading: Reading, shapes: Mapping[str, Shape]) -> None:
        self.calls: list[Call] = []
        self._answers: list[Result | None] = []
        self._ready: list[Ready] = []
        finish: Finish | None = None if reading.finish is None else provider.finishes.get(str(reading.finish), "other")
        cut = reading.cut
        if finish == "length" and reading.ends_in_call:
            cut = cut | {len(reading.calls) - 1}
        seed = b"" if all(wire.id for wire in reading.calls) else seed_of(reading.assistant)
        for index, wire in enumerate(reading.calls):
            if not wire.id:
                wire = wire._replace(id=made_up_id(seed, index))  # noqa: PLW2901 - the same call, named
            self._prepare(index, wire, shapes, provider.name, is_cut=index in cut)
        self.results = Results(
            calls=self.calls,
            answers=self._answers,
            assistant=reading.assistant,
            encode=provider.encode,
            finish="tool_calls" if self.calls and finish == "stop" else finish,
            finish_raw=reading.finish,
            carries=provider.carries,
        )

    def _prepare(self, index: int, wire: WireCall, shapes: Mapping[str, Shape], provider: str, *, is_cut: bool) -> None:
        wire_name = cast("Any", wire.wire_name)
        wire_name = wire_name if isinstance(wire_name, str) else ""  # whatever stands there is in raw
        shape = shapes.get(wire_name)
        name = None if shape is None else shape.name
        back = None if shape is None else shape.shown.lens.back
        call = Call(wire.id, name, wire_name, wire.arguments, provider, wire.raw, None, back)
        self.calls.append(call)
        self._answers.append(None)
        if shape is None:
            near = difflib.get_close_matches(wire_name, shapes, 1)
            error = CallError("unknown_tool", tool=wire_name, text=near[0] if near else "", names=tuple(shapes))
            self._answers[index] = _refused(call, error)
            return
        if is_cut and not _is_whole(wire.arguments):
            problem = Problem(path="", rule="json_truncated", message="the response ended in the middle of them")
            error = CallError("truncated_arguments", tool=wire_name, problems=[problem])
            self._answers[index] = _refused(call, error)
            return
        try:
            model, coercions = shape.validate(wire.arguments)
        except CallError as error:
            self._answers[index] = _refused(call, error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a validator of the author's that failed otherwise than by refusing
            self._answers[index] = _refused(call, validator_failed(error, tool=wire_name))
        else:
            self._ready.append(Ready(index, call, shape, model, coercions))

    def run(self, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """Run the calls that have not been run, here: plain tools in order, then async ones in a loop of their own.

        Raises:
            UsageError: An injected value is missing, or a tool is async and a loop runs; nothing was run.
        """
        for ready in self._ready:
            refuse_running_loop(ready.shape.kind, ready.shape.name)
        claimed = self._claimed(inject)
        for ready in claimed:
            if is_async(ready.shape.kind):
                continue
            started = perf_counter()
            try:
                value = run(ready.shape.kind, ready.shape.invoke, ready.model, inject)
            except asyncio.CancelledError:  # nobody cancels us here: it is the tool's own, and reads as cancelled
                continue
            except BaseException as error:
                self._answers[ready.position] = _failed(ready, error, started)
            else:
                self._answers[ready.position] = _succeeded(ready, value, started)
        if waiting := [ready for ready in claimed if is_async(ready.shape.kind)]:
            asyncio.run(self._drive(waiting, inject))
        return self.results

    async def arun(self, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """Run the calls that have not been run, all at once: async tools in this loop, others in threads.

        Raises:
            UsageError: An injected value is missing; nothing was run.
            CancelledError: We were cancelled. ``results`` is complete all the same.
        """
        await self._drive(self._claimed(inject), inject)
        return self.results

    def _claimed(self, inject: Mapping[str, Any]) -> list[Ready]:
        """Take the calls that have not been run: none is run twice, however often and from where we are asked."""
        for ready in self._ready:
            if ready.shape.has_needs:
                ready.shape.tool.require(inject)
        claimed, self._ready = self._ready, []
        return claimed

    async def _drive(self, open_calls: Sequence[Ready], inject: Mapping[str, Any]) -> None:
        if len(open_calls) == 1 and sys.version_info >= (3, 11):  # before, a task cannot say who cancelled it
            try:
                await self._answer(open_calls[0], inject)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
            return
        outcomes = await asyncio.gather(*(self._answer(ready, inject) for ready in open_calls), return_exceptions=True)
        for outcome in outcomes:  # a tool that cancelled itself has its answer; our own bugs are not swallowed
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    async def _answer(self, ready: Ready, inject: Mapping[str, Any]) -> None:
        shape = ready.shape
        started = perf_counter()
        try:
            value = await run_async(shape.kind, shape.invoke, ready.model, inject, shape.timeout, threads=True)
        except BaseException as error:
            self._answers[ready.position] = _failed(ready, error, started)
        else:
            self._answers[ready.position] = _succeeded(ready, value, started)


def _is_whole(arguments: Any) -> bool:
    """Whether arguments of a response that was cut off are complete: an object may have lost some of its fields."""
    if not isinstance(arguments, (str, bytes)):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _refused(call: Call, error: CallError) -> Result:
    return Result(call, error=error, text=str(error))


def _failed(ready: Ready, error: BaseException, started: float) -> Result:
    answer = as_call_error(error, tool=ready.call.wire_name, timeout=ready.shape.timeout)
    return Result(ready.call, None, answer, ready.coercions, perf_counter() - started, str(answer))


def _succeeded(ready: Ready, value: Any, started: float) -> Result:
    elapsed = perf_counter() - started
    parts: tuple[Part, ...] = ()
    try:
        parts = () if type(value) in _PLAIN else parts_of(value)
        if parts:
            parts = tuple(Text(_told(one.text, ready)) if isinstance(one, Text) else one for one in parts)
            text = as_text(parts)
            text.encode()  # half a surrogate pair cannot be sent
        else:
            text = _told(ready.shape.to_text(value), ready)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a serialiser of the user's types may raise anything
        answer = hidden("unserialisable_result", error, tool=ready.call.wire_name)
        return Result(ready.call, value, answer, ready.coercions, elapsed, str(answer))
    return Result(ready.call, value, None, ready.coercions, elapsed, text, False, parts)


def _told(text: str, ready: Ready) -> str:
    """A text as the model reads it: no longer than the tool allows, and marked where it is not to be trusted."""
    longest = ready.shape.longest_result
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}\n[cut: the first {longest} of {len(text)} characters]"
    return _marked(text, ready.call) if ready.shape.is_untrusted else text


def _marked(text: str, call: Call) -> str:
    """A text as data of somebody else's; what looks like the end of the mark is none."""
    inside = text.replace("</untrusted", "<\\/untrusted")
    return f'<untrusted source="{call.wire_name}">\n{inside}\n</untrusted>'
