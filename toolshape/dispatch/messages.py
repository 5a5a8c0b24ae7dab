"""Stored messages in, their calls resolved to tools; and calls of any provider, in the form that one is sent, out."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from toolshape.calls import Call, JsonObject, Loss
from toolshape.dispatch.handler import Handlers
from toolshape.dispatch.shape import Shape
from toolshape.errors import Problem, UsageError
from toolshape.history.carry import Carrier
from toolshape.history.conversion import Conversion
from toolshape.history.ids import Ids
from toolshape.history.log import Log, rules_of
from toolshape.history.reading import messages_in
from toolshape.history.repair import Progress, invalidated, repaired
from toolshape.message_forms.content import arguments_object
from toolshape.messages import (
    Message,
    Origin,
    ProviderPart,
    ReasoningPart,
    Repaired,
    ToolCallPart,
    ToolResultPart,
)
from toolshape.results import Result
from toolshape.schema.values import copied
from toolshape.wire.export import repaired as wire_name_of
from toolshape.wire.histories import CARRY_RULES, Histories, HistoryRuleName
from toolshape.wire.ids import generated_id, id_seed
from toolshape.wire.provider import OutboundCall, Provider

__all__ = [
    "CallWriter",
    "checked",
    "conversion_to",
    "histories_of",
    "outbound_calls",
    "read_messages",
    "repaired_messages",
    "result_part_of",
    "switched_off",
    "written_results",
]


def histories_of(provider: Provider) -> Histories:
    """How a provider's messages are read and written.

    Raises:
        UsageError: Nobody has said.
    """
    if provider.histories is None:
        raise UsageError(
            f"{provider.name} has no histories: its Provider says nothing of how messages are read and written"
        )
    return provider.histories


def switched_off(repairs: Mapping[str, bool] | bool | None) -> frozenset[str]:
    """The rules of histories that are switched off.

    Raises:
        UsageError: There is no such rule, or it cannot be switched off.
    """
    if repairs is None or repairs is True:
        return frozenset()
    given: Any = repairs
    if given is not False and not isinstance(given, Mapping):
        raise UsageError(f'repairs= is True, False, or what is off, as {{"blank_text": False}}, not {repairs!r}')
    names = frozenset[str](get_args(HistoryRuleName))
    if repairs is False:
        return names - CARRY_RULES - {"foreign_reasoning"}
    if unknown := sorted(repairs.keys() - names):
        raise UsageError(f"there is no repair {unknown[0]!r}; there are {', '.join(sorted(names))}")
    off = frozenset(name for name, is_on in repairs.items() if not is_on)
    if always := sorted(off & CARRY_RULES):
        raise UsageError(
            f"{always[0]} cannot be switched off: it is how the messages of one provider are written for another"
        )
    return off


def read_messages(
    provider: Provider,
    handlers: Handlers,
    given: Any,
    model: str | None,
    sent: str | None,
    fingerprint: str,
    before: Sequence[Message] = (),
) -> list[Message]:
    """Read messages of a provider, each call resolved to its tool.

    Args:
        provider: Whose they are.
        handlers: The tools.
        given: The messages.
        model: The model that they are of.
        sent: The fingerprint of the tools that the model was sent, where it is known.
        fingerprint: That of these tools.
        before: The messages before them.

    Raises:
        UsageError: The provider has no histories.
        ResponseError: They are no messages.
    """
    origin = Origin(provider=provider.name, model=model, fingerprint=sent)
    is_ours = sent == fingerprint
    return [
        replace(
            message,
            origin=origin,
            parts=tuple(
                _resolved(part, provider, handlers, is_ours=is_ours) if isinstance(part, ToolCallPart) else part
                for part in message.parts
            ),
        )
        for message in messages_in(histories_of(provider), given, before)
    ]


def _resolved(part: ToolCallPart, provider: Provider, handlers: Handlers, *, is_ours: bool) -> ToolCallPart:
    """A call with the name and the canonical arguments of its tool."""
    handler = handlers.find(part.wire_name)
    if handler is None:
        return replace(part, fault="unknown_tool")
    call = Call(part.id, handler.name, part.wire_name, part.arguments_raw, provider.name, part.raw, handler)
    arguments = call.arguments
    if arguments is None:
        return replace(part, name=handler.name, fault="malformed_arguments")
    is_ambiguous = not is_ours and _is_ambiguous(handlers.shapes[part.wire_name], part, arguments)
    return replace(part, name=handler.name, arguments=arguments, fault="ambiguous_arguments" if is_ambiguous else None)


def _is_ambiguous(shape: Shape, part: ToolCallPart, arguments: Any) -> bool:
    """Whether arguments that were read may have been meant otherwise, by schemas that were sent before these."""
    can_be = any(isinstance(one, Loss) and one.ambiguous for one in shape.differences)
    return can_be and arguments != arguments_object(part)


class CallWriter:
    """Writes calls in the form that a provider is sent."""

    __slots__ = ("_handlers", "_provider", "_shapes")

    def __init__(self, provider: Provider, handlers: Handlers) -> None:
        self._provider = provider
        self._handlers = handlers
        self._shapes = {shape.name: shape for shape in handlers.shapes.values()}

    def __call__(self, part: ToolCallPart) -> tuple[ToolCallPart, str | None]:
        """A call in the form that the provider is sent, and what is wrong with it, if anything."""
        shape = self._shapes.get(part.name or "")
        if shape is None:
            name = wire_name_of(self._provider, part.name or part.wire_name or "unknown")
            given = part.arguments if part.arguments is not None else arguments_object(part)
            return replace(part, wire_name=name, arguments_raw=copied(given)), "unknown_tool"
        if part.arguments is None:
            wrapped = replace(part, wire_name=shape.wire_name, arguments_raw=arguments_object(part))
            return wrapped, "malformed_arguments"
        written: Any = part.arguments
        if shape.out is not None:
            with contextlib.suppress(
                ValueError, TypeError, KeyError, AttributeError, IndexError
            ):  # what no schema admits
                written = shape.out(part.arguments)
        handler = self._handlers.find(shape.wire_name)
        is_valid = handler is not None and handler.received(written) is not None
        fault = part.fault or (None if is_valid else "invalid_arguments")
        return replace(part, wire_name=shape.wire_name, arguments_raw=copied(written)), fault

    def fits(self, part: ToolCallPart) -> bool:
        """Whether a call as it stands is read with these tools as it was with those that it was made with."""
        handler = self._handlers.find(part.wire_name)
        if handler is None or handler.name != part.name:
            return False
        call = Call(part.id, handler.name, part.wire_name, part.arguments_raw, self._provider.name, part.raw, handler)
        return call.arguments == part.arguments


def outbound_calls(
    provider: Provider, handlers: Handlers, calls: Iterable[Call | tuple[str, JsonObject]]
) -> list[OutboundCall]:
    """Calls of any provider, and pairs of names and canonical arguments, in the form that a provider is sent.

    Raises:
        UsageError: A pair names no tool.
    """
    rule = None if provider.histories is None else provider.histories.rule("call_id", None)
    ids, write = Ids(), CallWriter(provider, handlers)
    shapes = {one.name: one for one in handlers.shapes.values()}
    found: list[OutboundCall] = []
    for position, one in enumerate(calls):
        if isinstance(one, Call):
            arguments = None if one.name is None else one.arguments
            part = ToolCallPart(id=one.id, wire_name=one.wire_name, arguments_raw=one.arguments_raw, name=one.name)
            written, _ = write(replace(part, arguments=arguments))
            found.append(OutboundCall(ids.sent(one.id, rule), written.wire_name, arguments_object(written)))
            continue
        pair: Any = one
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], dict)):  # noqa: PLR2004 - a pair
            raise UsageError(f"a call is a Call, or a pair of a tool's name and an object of arguments, not {pair!r}")
        name, given = pair
        if name not in shapes:
            raise UsageError(f"there is no tool {name!r}")
        shape = shapes[name]
        said = given if shape.out is None else shape.out(given)
        found.append(OutboundCall(generated_id(id_seed([name, given]), position), shape.wire_name, copied(said)))
    return found


def checked(provider: Provider, given: Any, model: str | None) -> list[Problem]:
    """What a provider would refuse of its messages."""
    _, log = _repaired(provider, given, model, None)
    return log.findings()


def repaired_messages(
    provider: Provider, given: Any, model: str | None, repairs: Mapping[str, bool] | bool | None
) -> Repaired:
    """The messages of a provider as it takes them."""
    found, log = _repaired(provider, given, model, repairs)
    histories, written = histories_of(provider), list[Any]()
    for message in found:
        written += [message.raw] if message.raw is not None else histories.write(message, provider.encode)
    return Repaired(messages=written, repairs=tuple(log.in_order()))


def _goes_on(given: Any, messages: Sequence[Message]) -> bool:
    """Whether results may answer calls that stand at the provider: the request goes on from there, or names an item."""
    kept = ("previous_response_id", "conversation", "previous_interaction_id")
    is_kept = isinstance(given, Mapping) and any(given.get(name) for name in kept)
    parts = (part for message in messages for part in message.parts)
    return is_kept or any(isinstance(part, ProviderPart) and part.kind == "item_reference" for part in parts)


def _repaired(
    provider: Provider, given: Any, model: str | None, repairs: Mapping[str, bool] | bool | None
) -> tuple[list[Message], Log]:
    histories = histories_of(provider)
    messages = messages_in(histories, given)
    off = switched_off(repairs) | (frozenset({"orphan_result"}) if _goes_on(given, messages) else frozenset())
    log = Log(rules_of(histories, model, off))
    if histories.system is not None:  # what stands beside the messages is not among them
        messages = [one for one in messages if one.role != "system" or isinstance(one.raw, dict)]
    thinks = any(isinstance(part, ReasoningPart) for message in messages for part in message.parts)
    found = repaired(messages, log, Progress(), is_end=True, thinks=thinks)
    if log.repairs and "signed_prefix" in log.rules:
        log.repairs = invalidated(messages, log.repairs)
    return found, log


def conversion_to(
    provider: Provider,
    handlers: Handlers,
    fingerprint: str,
    model: str | None,
    off: frozenset[str],
) -> Conversion:
    """What makes requests of a conversation.

    Raises:
        UsageError: The provider has no histories.
    """
    histories = histories_of(provider)
    writer = CallWriter(provider, handlers)
    carrier = Carrier(provider.name, model, fingerprint, histories, provider.carries, writer, writer.fits)
    return Conversion(rules_of(histories, model, off), carrier, provider.encode)


def result_part_of(result: Result) -> ToolResultPart:
    """A result as the part of a message, for any provider."""
    return ToolResultPart(
        id=result.call.id,
        wire_name=result.call.wire_name,
        text=result.text,
        code=None if result.error is None else result.error.code,
        is_text=isinstance(result.value, str) if result.is_text is None and result.error is None else result.is_text,
        parts=result.parts,
    )


def written_results(provider: Provider, handlers: Handlers, results: Sequence[Result]) -> list[Any]:
    """Results of other providers' calls as this one's messages, with the ids and names that it is sent of the calls."""
    histories = histories_of(provider)
    names = {shape.name: shape.wire_name for shape in handlers.shapes.values()}
    ids = Ids()
    rule = histories.rule("call_id", None)
    parts = [
        replace(
            result_part_of(one),
            id=ids.sent(one.call.id, rule),
            wire_name=names.get(one.call.name or "") or wire_name_of(provider, one.call.wire_name or "unknown"),
            has_id=histories.has_call_ids,
        )
        for one in results
    ]
    return histories.write(Message(role="tool", parts=tuple(parts)), provider.encode)
