"""Converts calls and results from any provider to the form of one provider."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._families.wire.content import arguments_object
from toolshape._families.wire.histories import Histories, HistoryRuleName
from toolshape._families.wire.ids import generated_id, id_seed
from toolshape._families.wire.provider import Provider
from toolshape._history.repairs.ids import Ids
from toolshape._records.calls import Call, JsonObject, WireCall, plain_text
from toolshape._records.errors import UsageError
from toolshape._records.result import Result, make_sendable
from toolshape._schema.values import copy_json
from toolshape._tools.export import wire_name_of
from toolshape._tools.handler import Handlers
from toolshape._tools.shape import Shape
from toolshape.messages import Message, ToolCallPart, ToolResultPart


def histories_of(provider: Provider) -> Histories:
    """Return the ``Histories`` of a provider: how its messages are read and written.

    Raises:
        UsageError: The provider has no histories.
    """
    if provider.histories is None:
        raise UsageError(
            f"{provider.name} has no histories: its Provider does not define how messages are "
            "read and written"
        )
    return provider.histories


class CallWriter:
    """Writes calls from any provider in the form of one provider."""

    __slots__ = ("_handlers", "_provider", "_shapes")

    def __init__(self, provider: Provider, handlers: Handlers) -> None:
        self._provider = provider
        self._handlers = handlers
        self._shapes = {shape.name: shape for shape in handlers.shapes.values()}

    def write(self, part: ToolCallPart) -> tuple[ToolCallPart, HistoryRuleName | None]:
        """Convert a call to the form that the provider is sent; also return the
        rule that the call breaks, if any.
        """
        shape = self._shapes.get(part.name or "")
        answer = self._handlers.answer
        if shape is None and answer is not None and part.arguments is not None:
            sent = answer.sent(part.name, part.arguments)
            if sent is not None:
                return replace(
                    part, wire_name=sent[0], arguments_raw=_sendable_copy(sent[1])
                ), part.fault
        if shape is None:
            name = wire_name_of(self._provider, part.name or part.wire_name or "unknown")
            if part.arguments is not None:
                arguments = part.arguments
            else:
                arguments = self._as_given(part)
            return replace(
                part, wire_name=name, arguments_raw=_sendable_copy(arguments)
            ), "unknown_tool"
        if part.arguments is None:
            wrapped_part = replace(
                part, wire_name=shape.wire_name, arguments_raw=self._as_given(part)
            )
            return wrapped_part, "malformed_arguments"
        sent_arguments: Any = part.arguments
        if shape.out is not None:
            # The schema may reject the arguments.
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, IndexError):
                sent_arguments = shape.out(part.arguments)
        handler = self._handlers.find(shape.wire_name)
        is_valid = handler is not None and handler.received(sent_arguments) is not None
        fault = part.fault or (None if is_valid else "invalid_arguments")
        return replace(
            part, wire_name=shape.wire_name, arguments_raw=_sendable_copy(sent_arguments)
        ), fault

    def _as_given(self, part: ToolCallPart) -> JsonObject:
        """Return the arguments of a call as an object; plain text is wrapped where
        the provider does not take it.
        """
        text = plain_text(part.arguments_raw)
        if text is None or self._provider.request.free_text is not None:
            return arguments_object(part)
        return arguments_object(replace(part, arguments_raw=text))

    def fits(self, part: ToolCallPart) -> bool:
        """Whether the current tools read the arguments of a call in the same way
        as the tools that were called.
        """
        handler = self._handlers.target(part.wire_name)
        if handler is None or handler.name != part.name:
            return False
        call = Call(
            part.id,
            handler.name,
            part.wire_name,
            part.arguments_raw,
            self._provider.name,
            part.raw,
            handler,
        )
        return call.arguments == part.arguments


def _sendable_copy(arguments: Any) -> Any:
    """Return a copy of the arguments that a client can send, for example without NaN."""
    return copy_json(make_sendable([arguments])[0])


def convert_calls(
    provider: Provider, handlers: Handlers, calls: Iterable[Call | tuple[str, JsonObject]]
) -> list[WireCall]:
    """Convert calls from any provider, or pairs of name and canonical arguments, to
    the form that a provider is sent.

    Raises:
        UsageError: A value is not a call or a pair, or a pair does not name a tool.
    """
    if provider.histories is None:
        rule = None
    else:
        rule = provider.histories.rule("call_id", None)
    ids, writer = Ids(), CallWriter(provider, handlers)
    shapes = {shape.name: shape for shape in handlers.shapes.values()}
    wire_calls: list[WireCall] = []
    for position, call in enumerate(calls):
        if isinstance(call, Call):
            wire_part, _ = writer.write(_part_of(call))
            wire_calls.append(
                WireCall(ids.sent(call.id, rule), wire_part.wire_name, arguments_object(wire_part))
            )
            continue
        raw_pair: Any = call
        if not (
            isinstance(raw_pair, tuple) and len(raw_pair) == 2 and isinstance(raw_pair[1], dict)  # noqa: PLR2004 - a pair
        ):
            raise UsageError(
                "pass each call as a Call, or as a pair of a tool's name and a dict of "
                f"arguments, not {raw_pair!r}"
            )
        name, canonical_arguments = raw_pair
        wire_name, sent_arguments = _sent_pair(
            name, canonical_arguments, shapes.get(name), handlers
        )
        call_id = generated_id(id_seed([name, canonical_arguments]), position)
        wire_calls.append(WireCall(call_id, wire_name, copy_json(sent_arguments)))
    return wire_calls


def _sent_pair(
    name: str, arguments: JsonObject, shape: Shape | None, handlers: Handlers
) -> tuple[str, JsonObject]:
    """Return the wire name and the arguments that are sent for a call of a tool,
    or for the call with the answer.

    Raises:
        UsageError: There is no such tool.
    """
    if shape is not None:
        return shape.wire_name, arguments if shape.out is None else shape.out(arguments)
    answer = handlers.answer
    if answer is None:
        sent: tuple[str, JsonObject] | None = None
    else:
        sent = answer.sent(name, arguments)
    if sent is None:
        raise UsageError(f"there is no tool {name!r}")
    return sent


def _part_of(call: Call) -> ToolCallPart:
    return ToolCallPart(
        id=call.id,
        wire_name=call.wire_name,
        arguments_raw=call.arguments_raw,
        name=call.name,
        arguments=None if call.name is None else call.arguments,
    )


def _plain(writer: CallWriter, call: Call) -> JsonObject | None:
    """Return the arguments of a call if the provider is sent them as plain text;
    the result then has its own form.
    """
    written, _ = writer.write(_part_of(call))
    return None if plain_text(written.arguments_raw) is None else written.arguments_raw


def result_part_of(result: Result) -> ToolResultPart:
    """Return a result as a message part, for any provider."""
    is_text = result.is_text
    if is_text is None and result.error is None:
        is_text = isinstance(result.value, str)
    return ToolResultPart(
        id=result.call.id,
        wire_name=result.call.wire_name,
        text=result.text,
        code=None if result.error is None else result.error.code,
        is_text=is_text,
        parts=result.parts,
    )


def write_foreign_results(
    provider: Provider, handlers: Handlers, results: Sequence[Result]
) -> list[Any]:
    """Write results of other providers' calls as messages for this provider, with
    ids and names that it accepts.
    """
    histories = histories_of(provider)
    names = {shape.name: shape.wire_name for shape in handlers.shapes.values()}
    ids, writer = Ids(), CallWriter(provider, handlers)
    rule = histories.rule("call_id", None)
    parts = [
        replace(
            result_part_of(result),
            id=ids.sent(result.call.id, rule),
            wire_name=names.get(result.call.name or "")
            or wire_name_of(provider, result.call.wire_name or "unknown"),
            has_id=histories.has_call_ids,
            call_raw=None if provider.request.free_text is None else _plain(writer, result.call),
        )
        for result in results
    ]
    return histories.write(Message(role="tool", parts=tuple(parts)))
