"""The calls of a response in; validated calls that have not run yet, and their results once they have, out."""

import functools
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from time import perf_counter
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from toolshape.calls import EARLY, Call, Coercion, Finish, WireCall, new_record
from toolshape.dispatch.handler import Handler, Handlers
from toolshape.dispatch.receive import sendable_name
from toolshape.errors import CallError, Problem, ToolError, UsageError
from toolshape.execution.failures import as_call_error, hidden, is_cancellation, validation_error
from toolshape.execution.returned import SETTLED, collected
from toolshape.execution.run import NOTHING_INJECTED, final_value, refuse_running_loop
from toolshape.parts import Part, parts_of
from toolshape.record import require
from toolshape.results import Result, Results
from toolshape.tool import record_of
from toolshape.wire.ids import generated_id, id_seed, sendable_id
from toolshape.wire.provider import Provider, Read

if TYPE_CHECKING:
    import asyncio

__all__ = ["Plan", "call_of"]

_MOST_HINTS = 10  # of a response, for names that nobody has
_PLAIN = frozenset({str, int, float, bool, type(None), dict})


Ready: TypeAlias = tuple[int, Call, Handler, BaseModel, tuple[Coercion, ...]]
"""A call that may run: its position, the call, its handler, its validated arguments, and the coercions.

A NamedTuple here was measured at 8 % of the dispatch of a scalar call.
"""


class Plan:
    """The calls of one response, validated and not yet run.

    ``calls`` are all of them; ``results`` has an answer for each at any time: what failed to validate is answered
    already, what has not finished reads as ``cancelled``.
    """

    __slots__ = ("_answers", "_is_plain", "_ready", "calls", "results")
    calls: list[Call]
    results: Results
    _answers: list[Result | None]
    _ready: Sequence[Ready]
    _is_plain: bool

    @staticmethod
    def of(provider: Provider, reading: Read, handlers: Handlers) -> "Plan":
        """Validate the calls of a response that was read."""
        assistant, wires, finish_raw, cut, ends_in_call = reading
        finish: Finish | None = None if finish_raw is None else provider.finishes.get(str(finish_raw), "other")
        if wires and finish != "tool_calls":
            is_text = isinstance(wires[-1][2], (str, bytes))  # only a text can be checked for completeness
            if ends_in_call and finish in EARLY and (finish == "length" or is_text):
                cut |= {len(wires) - 1}
            finish = "tool_calls" if finish == "stop" else finish
        calls: list[Call] = []
        answers: list[Result | None] = []
        ready: list[Ready] = []
        name, compiled = provider.name, handlers.compiled
        is_plain, hints_left = True, _MOST_HINTS
        for given_id, wire_name, arguments, raw in wires:
            call_id = given_id
            if not (type(call_id) is str and call_id and call_id.isascii()):
                call_id = sendable_id(given_id) or generated_id(id_seed(raw), len(calls))
            handler = (compiled.get(wire_name) if type(wire_name) is str else None) or handlers.find(wire_name)
            if handler is None:
                call = Call(call_id, None, sendable_name(wire_name), arguments, name, raw)
                has_hint, hints_left = hints_left > 0, hints_left - 1
                answers.append(_unknown(call, handlers, has_hint=has_hint))
            else:
                call = new_record(Call, (call_id, handler.name, wire_name, arguments, name, raw, handler.back))
                try:
                    if cut:
                        _refuse_cut(len(calls) in cut, arguments, handler.wire_name)
                    model, coercions = handler.validate(arguments)
                except BaseException as error:
                    answers.append(_error_result(call, validation_error(error, tool=wire_name)))
                else:
                    ready.append((len(calls), call, handler, model, coercions))
                    answers.append(None)
                    is_plain = is_plain and handler.is_plain
            calls.append(call)
        plan, results = Plan(), Results()
        plan.calls, plan._answers, plan.results = calls, answers, results
        results.calls, results.answers, results.assistant = calls, answers, assistant
        results.finish, results.finish_raw, results.encode = finish, finish_raw, provider.encode
        results.carries, plan._ready, plan._is_plain = provider.carries, ready, is_plain
        return plan

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Plan cannot be pickled: it holds functions and validated arguments; pickle its calls, or results"
        )

    def run(self, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """Run the calls that have not been run, here: plain tools in order, then async ones in a loop of their own.

        Raises:
            UsageError: An injected value is missing, or a tool is async and a loop runs; nothing was run.
        """
        if not self._is_plain:
            self._refuse_running_loop()
            self._require(inject)
        claimed, self._ready = self._ready, ()  # none is run twice, however often and from where we are asked
        for ready in claimed:
            position, call, handler, model, coercions = ready
            if handler.is_async:
                continue
            started = perf_counter()
            try:
                value = handler.invoke(model, inject)
                if type(value) is not str and type(value) not in SETTLED:
                    value = final_value(value)
            except BaseException as error:
                if not is_cancellation(error):  # one the tool raised itself stays unanswered: it reads as cancelled
                    self._answers[position] = _failed(ready, error, started)
            else:
                elapsed = perf_counter() - started
                if type(value) is str and handler.says_text and value.isascii():
                    self._answers[position] = new_record(
                        Result, (call, value, None, coercions, elapsed, value, False, (), True)
                    )
                else:
                    self._answers[position] = _succeeded(ready, value, elapsed)
        if not self._is_plain and (waiting := [ready for ready in claimed if ready[2].is_async]):
            from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            aio.run(self._drive(waiting, inject))
        return self.results

    async def arun(self, *, inject: Mapping[str, Any] = NOTHING_INJECTED) -> Results:
        """Run the calls that have not been run, all at once: async tools in this loop, others in threads.

        Raises:
            UsageError: An injected value is missing; nothing was run.
            CancelledError: We were cancelled. ``results`` is complete all the same.
        """
        self._require(inject)
        claimed, self._ready = self._ready, ()
        if len(claimed) != 1:
            await self._drive(claimed, inject)
            return self.results
        task = _task_starter()(self._answer(claimed[0], inject))
        if not task.done():
            from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            await aio.wait_until_done(task)
        if not task.cancelled():  # by itself, which reads as cancelled
            task.result()
        return self.results

    def _refuse_running_loop(self) -> None:
        for _, _, handler, _, _ in self._ready:
            refuse_running_loop(handler.kind, handler.name)

    def _require(self, inject: Mapping[str, Any]) -> None:
        if not self._is_plain:
            for _, _, handler, _, _ in self._ready:
                if handler.has_needs:
                    require(record_of(handler.tool), inject)

    async def _drive(self, open_calls: Sequence[Ready], inject: Mapping[str, Any]) -> None:
        from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

        thread_limit = aio.thread_limit()
        await aio.all_of([self._answer(ready, inject, thread_limit) for ready in open_calls])

    async def _answer(self, ready: Ready, inject: Mapping[str, Any], thread_limit: Any = None) -> None:
        position, call, handler, model, coercions = ready
        started = perf_counter()
        try:
            if handler.is_awaited:
                value = handler.invoke(model, inject)
                value = await (value if type(value) is CoroutineType else _finished(value))
                if type(value) not in SETTLED:
                    value = collected(value)
            else:
                from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

                value = await aio.run_async(handler.kind, handler.invoke, model, inject, handler.timeout, thread_limit)
        except BaseException as error:
            self._answers[position] = _failed(ready, error, started)
        else:
            elapsed = perf_counter() - started
            if type(value) is str and handler.says_text and value.isascii():
                done = (call, value, None, coercions, elapsed, value, False, (), True)
                self._answers[position] = new_record(Result, done)
            else:
                self._answers[position] = _succeeded(ready, value, elapsed)


@functools.cache
def _task_starter() -> "Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]":
    """``aio.start_task``, kept: importing it anew would be a thirtieth of the dispatch of an async call."""
    from toolshape.execution.aio import start_task  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return start_task


def call_of(provider: str, handlers: Handlers, position: int, wire: WireCall | tuple[str, str, Any, Any]) -> Call:
    """A call of a response, resolved to its tool, by its position among the calls; ``Plan.of`` makes the same."""
    given_id, wire_name, arguments, raw = wire
    call_id = sendable_id(given_id) or generated_id(id_seed(raw), position)
    handler = handlers.find(wire_name)
    if handler is None:
        return Call(call_id, None, sendable_name(wire_name), arguments, provider, raw)
    return Call(call_id, handler.name, wire_name, arguments, provider, raw, handler.back)


def _refuse_cut(is_cut: bool, arguments: Any, name: str) -> None:
    """Refuse arguments that the response ended in the middle of."""
    if is_cut and not _is_whole(arguments):
        problem = Problem(path="", rule="json_truncated", message="the response ended in the middle of them")
        raise CallError("truncated_arguments", tool=name, problems=[problem])


def _is_whole(arguments: Any) -> bool:
    """Whether arguments of a response that was cut off are complete: an object may have lost some of its fields."""
    if not isinstance(arguments, (str, bytes)):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


async def _finished(value: Any) -> Any:
    from toolshape.execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

    return await aio.finished(value)


def _unknown(call: Call, handlers: Handlers, *, has_hint: bool) -> Result:
    names, index = handlers.index
    near = (index.nearest(call.wire_name) or "") if has_hint else ""
    return _error_result(call, CallError("unknown_tool", tool=call.wire_name, text=near, names=names))


def _error_result(call: Call, error: CallError) -> Result:
    return Result(call, error=error, text=str(error))


def _failed(ready: Ready, error: BaseException, started: float) -> Result:
    _, call, handler, _, coercions = ready
    answer = as_call_error(error, tool=call.wire_name, timeout=handler.timeout)
    return Result(call, None, answer, coercions, perf_counter() - started, str(answer))


def _succeeded(ready: Ready, value: Any, elapsed: float) -> Result:
    _, call, handler, _, coercions = ready
    parts: tuple[Part, ...] = ()
    is_text: bool | None = None
    try:
        parts = () if type(value) in _PLAIN else parts_of(value)
        if parts:
            text, parts = handler.framed_parts(parts)
            text.encode()  # half a surrogate pair cannot be sent
        else:
            text, is_text = handler.write(value)
            if handler.is_framed and (framed := handler.framed(text)) is not text:
                text, is_text = framed, None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a serialiser of the user's types may raise anything
        returned = UsageError(f"{handler.name} returned a ToolError: raise it, so that the model reads its text")
        cause = returned if isinstance(value, ToolError) else error
        answer = hidden("unserialisable_result", cause, tool=call.wire_name)
        return Result(call, value, answer, coercions, elapsed, str(answer))
    return new_record(Result, (call, value, None, coercions, elapsed, text, False, parts, is_text))
