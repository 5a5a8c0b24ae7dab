"""Reads stored messages and resolves their calls; checks, repairs and converts messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from toolshape._families.wire.content import arguments_object
from toolshape._families.wire.histories import CARRY_RULES, Histories, HistoryRuleName
from toolshape._families.wire.provider import Provider
from toolshape._history.carry import Carrier
from toolshape._history.conversion import Conversion
from toolshape._history.log import Log, rules_of
from toolshape._history.outbound import CallWriter, histories_of
from toolshape._history.reading import messages_in, response_in
from toolshape._history.repair import RepairState, mark_invalidated, repaired
from toolshape._records.calls import Call, Loss
from toolshape._records.errors import Problem, ResponseError, UsageError
from toolshape._records.result import Usage
from toolshape._tools.handler import Handlers
from toolshape._tools.shape import Shape
from toolshape.messages import (
    CallFault,
    Message,
    MessagePart,
    Origin,
    ProviderPart,
    ReasoningPart,
    Repaired,
    ToolCallPart,
    calls_in,
)


def switched_off_repairs(repairs: Mapping[str, bool] | bool | None) -> frozenset[str]:
    """Return the names of the repairs that are switched off.

    Raises:
        UsageError: A repair in ``repairs`` does not exist or cannot be switched off.
    """
    if repairs is None or repairs is True:
        return frozenset()
    setting: Any = repairs
    if setting is not False and not isinstance(setting, Mapping):
        raise UsageError(
            'repairs= takes True, False, or a dict such as {"blank_text": False}, not '
            f"{repairs!r}"
        )
    names = frozenset[str](get_args(HistoryRuleName))
    if repairs is False:
        return names - CARRY_RULES - {"foreign_reasoning"}
    if unknown := sorted(repairs.keys() - names):
        raise UsageError(
            f"there is no repair {unknown[0]!r}; the repairs are {', '.join(sorted(names))}"
        )
    off_names = frozenset(name for name, is_on in repairs.items() if not is_on)
    if required_names := sorted(off_names & CARRY_RULES):
        raise UsageError(
            f"{required_names[0]} cannot be switched off: without it, one provider's messages "
            "cannot be sent to another"
        )
    return off_names


def read_messages(
    provider: Provider,
    handlers: Handlers,
    given: Any,
    model: str | None,
    sent: str | None,
    fingerprint: str,
    before: Sequence[Message] = (),
) -> list[Message]:
    """Read messages of a provider, and resolve each call to its tool.

    Args:
        provider: The provider of the messages.
        handlers: The handlers of the tools.
        given: The messages.
        model: The model that wrote the messages.
        sent: The fingerprint of the tools that the model was sent, if it is known.
        fingerprint: The fingerprint of the current tools.
        before: The earlier messages of the conversation.

    Raises:
        UsageError: The provider has no histories.
        ResponseError: The value is not a list of messages.
    """
    origin = Origin(provider=provider.name, model=model, fingerprint=sent)
    is_ours = sent == fingerprint
    return [
        replace(
            message,
            origin=origin,
            parts=tuple(
                _resolve_part(part, provider, handlers, is_ours=is_ours)
                if isinstance(part, ToolCallPart)
                else part
                for part in message.parts
            ),
        )
        for message in messages_in(histories_of(provider), given, before)
    ]


def response_messages(
    provider: Provider,
    given: Sequence[Any],
    calls: Sequence[Call],
    finish: str | None,
    origin: Origin,
    before: Sequence[Message],
    *,
    is_plain: bool,
    usage: Usage | None = None,
    holds_secret: bool = False,
) -> list[Message]:
    """Read the messages of a response whose calls were read already; if this fails,
    return one message with the calls.

    Args:
        provider: The provider that responded.
        given: The messages of the response.
        calls: The calls of the response, as they are dispatched.
        finish: The reason why the response ended.
        origin: The provider and model that wrote the messages, and the fingerprint of the tools in
            the request.
        before: The earlier messages of the conversation.
        is_plain: Whether the messages are JSON that every client can send.
        usage: The tokens of the response, for its last message.
        holds_secret: Whether a call or the answer may hold a secret.
    """
    try:
        if given:
            messages = response_in(histories_of(provider), given, before, is_plain=is_plain)
        else:
            messages = []
    except ResponseError:
        messages = []
    parts = [part for message in messages for part in calls_in(message)]
    if len(parts) != len(calls) or any(
        part.has_id and part.id != call.id for part, call in zip(parts, calls, strict=True)
    ):
        # The calls in the messages differ from the calls in the response. The message gets the
        # dispatched calls, because these are the calls that get results.
        call_parts = [
            ToolCallPart(id=call.id, wire_name=call.wire_name, arguments_raw=call.arguments_raw)
            for call in calls
        ]
        messages = [Message(role="assistant", parts=tuple(call_parts))]
    remaining_calls, last = iter(calls), len(messages) - 1
    return [
        Message(
            role=message.role,
            parts=_dispatched_parts(message, remaining_calls),
            origin=origin,
            raw=message.raw,
            finish=finish,
            usage=usage if position == last else None,
            holds_secret=holds_secret,
            path=f"messages[{len(before) + position}]",
        )
        for position, message in enumerate(messages)
    ]


def _dispatched_parts(message: Message, calls: Iterator[Call]) -> tuple[MessagePart, ...]:
    """Return the parts of a message, whose calls are the next of these calls."""
    return tuple(
        _dispatched_part(next(calls), part) if isinstance(part, ToolCallPart) else part
        for part in message.parts
    )


def _dispatched_part(call: Call, part: ToolCallPart) -> ToolCallPart:
    arguments = None if call.name is None else call.arguments
    fault: CallFault | None = None
    if arguments is None:
        if call.name is None:
            fault = "unknown_tool"
        else:
            fault = "malformed_arguments"
    return ToolCallPart(
        id=call.id,
        wire_name=part.wire_name,
        arguments_raw=part.arguments_raw,
        name=call.name,
        arguments=arguments,
        fault=fault,
        has_id=part.has_id,
        raw=part.raw,
        path=part.path,
    )


def _resolve_part(
    part: ToolCallPart, provider: Provider, handlers: Handlers, *, is_ours: bool
) -> ToolCallPart:
    """Add the tool's own name and the canonical arguments to a call."""
    handler = handlers.find(part.wire_name)
    if handler is None:
        return replace(part, fault="unknown_tool")
    call = Call(
        part.id, handler.name, part.wire_name, part.arguments_raw, provider.name, part.raw, handler
    )
    arguments = call.arguments
    if arguments is None:
        return replace(part, name=handler.name, fault="malformed_arguments")
    is_ambiguous = not is_ours and _is_ambiguous(
        handlers.shapes[handler.wire_name], part, arguments
    )
    return replace(
        part,
        name=handler.name,
        arguments=arguments,
        fault="ambiguous_arguments" if is_ambiguous else None,
    )


def _is_ambiguous(shape: Shape, part: ToolCallPart, arguments: Any) -> bool:
    """Whether stored arguments may have had another meaning under an earlier version of the
    schema.
    """
    may_be_ambiguous = any(
        isinstance(difference, Loss) and difference.ambiguous for difference in shape.differences
    )
    return may_be_ambiguous and arguments != arguments_object(part)


def check_messages(provider: Provider, given: Any, model: str | None) -> list[Problem]:
    """Return the problems that would make the provider reject the messages."""
    histories = histories_of(provider)
    _, log = _repair(
        provider,
        histories,
        _drop_system_prompts(histories, messages_in(histories, given)),
        given,
        model,
        None,
    )
    return log.findings()


def repair_messages(
    provider: Provider, given: Any, model: str | None, repairs: Mapping[str, bool] | bool | None
) -> Repaired:
    """Repair messages, so the provider accepts them."""
    histories = histories_of(provider)
    messages = _drop_system_prompts(histories, messages_in(histories, given))
    fixed_messages, log = _repair(provider, histories, messages, given, model, repairs)
    wire_messages = list[Any]()
    for message in fixed_messages:
        wire_messages += [message.raw] if message.raw is not None else histories.write(message)
    changes = log.repairs()
    return Repaired(
        messages=wire_messages,
        repairs=tuple(
            mark_invalidated(messages, changes) if "signed_prefix" in log.rules else changes
        ),
    )


def _drop_system_prompts(histories: Histories, messages: list[Message]) -> list[Message]:
    """Remove the system prompts that the request sends in a separate field."""
    if histories.system is None:
        return messages
    return [
        message for message in messages if message.role != "system" or isinstance(message.raw, dict)
    ]


def _continues_stored(histories: Histories, given: Any, messages: Sequence[Message]) -> bool:
    """Whether the request continues state that the provider stores; results may
    then answer calls in that state.
    """
    if isinstance(given, Mapping) and any(given.get(name) for name in histories.continued_by):
        return True
    parts = (part for message in messages for part in message.parts)
    return any(
        isinstance(part, ProviderPart) and part.kind in histories.continued_by for part in parts
    )


def _repair(
    provider: Provider,
    histories: Histories,
    messages: Sequence[Message],
    given: Any,
    model: str | None,
    repairs: Mapping[str, bool] | bool | None,
) -> tuple[list[Message], Log]:
    continues_stored = _continues_stored(histories, given, messages)
    off_names = switched_off_repairs(repairs) | (
        frozenset({"orphan_result"}) if continues_stored else frozenset()
    )
    log = Log(rules_of(histories, provider.names, model, off_names))
    thinks = any(isinstance(part, ReasoningPart) for message in messages for part in message.parts)
    return repaired(messages, log, RepairState(), is_end=True, thinks=thinks), log


def conversion_to(
    provider: Provider,
    handlers: Handlers,
    fingerprint: str,
    model: str | None,
    off: frozenset[str],
) -> Conversion:
    """Return the converter from a conversation to this provider's requests.

    Raises:
        UsageError: The provider has no histories.
    """
    histories = histories_of(provider)
    calls = CallWriter(provider, handlers)
    carrier = Carrier(provider.name, model, fingerprint, histories, provider.codec.carries, calls)
    return Conversion(rules_of(histories, provider.names, model, off), carrier)
