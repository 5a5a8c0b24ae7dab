"""Validates the calls in a response: each is then ready, pending, or rejected with an error."""

from typing import TYPE_CHECKING, Any

from toolshape._families.wire.ending import NO_ENDING, Ending
from toolshape._families.wire.ids import made_up_id, sendable_id
from toolshape._families.wire.provider import Provider, Read
from toolshape._function.calling.failures import validation_error
from toolshape._plan import approval
from toolshape._plan.resolve import (
    as_meant,
    error_result,
    refuse_cut,
    without_tool,
)
from toolshape._plan.results import (
    Results,
    ending_of_results,
    keep_response,
    response_of_results,
    urgent_warnings,
)
from toolshape._records.calls import EARLY, Call, Finish, new_record, plain_text
from toolshape._records.errors import CallError, ResponseError
from toolshape._records.result import QUOTING
from toolshape._tools.handler import Handlers

if TYPE_CHECKING:
    from toolshape._plan.claims import Ready
    from toolshape._records.result import Result

_HIDDEN_WORDS = "its words are not shown here, because they may quote a secret"
_LONGEST_ERROR = 300  # characters of the provider's words in an error; its body has them all
_MOST_HINTS = 10  # the most hints for unknown names in one response


def plan_calls(  # noqa: C901 - the path of a call
    provider: Provider, reading: Read, handlers: Handlers, response: Any = None
) -> Results:
    """Validate the calls of a response that was read, without running them.

    Args:
        provider: The provider.
        reading: What was read of the response.
        handlers: The tools.
        response: The response as it came, or a ``Streamed`` one; ``None`` if there are only calls.

    Raises:
        ResponseError: The response holds no calls, and the provider ended it with an error.
    """
    # This is the path of every call, so it asks nothing twice and calls few functions. A plain id
    # and a known name are the common case, and are looked up without a call. Whatever is not plain
    # (another name, a call that was cut off, an end without a call, an answer, an approval) leaves
    # a flag here, and is settled below by a function of its own, which most responses never reach.
    assistant, wire_calls, finish_raw, cut_positions, _ = reading
    finish: Finish | None = (
        None if finish_raw is None else provider.response.finishes.get(str(finish_raw), "other")
    )
    if wire_calls and finish != "tool_calls":
        finish, cut_positions = (
            ("tool_calls", cut_positions) if finish == "stop" else _end_early(finish, reading)
        )
    calls: list[Call] = []
    answers: list[Result | None] = []
    ready: list[Ready] = []
    name, compiled, is_plain, unknown_is_secret = provider.name, handlers.compiled, True, False
    for given_id, wire_name, arguments, raw in wire_calls:
        call_id = (
            given_id
            if type(given_id) is str and given_id and given_id.isascii()
            else (given_id and sendable_id(given_id))
            or made_up_id(wire_name, arguments, len(calls))
        )
        handler = (compiled.get(wire_name) if type(wire_name) is str else None) or handlers.find(
            wire_name
        )
        if handler is None:
            handler, wire_name, raw, assistant = as_meant(handlers, wire_name, raw, assistant)  # noqa: PLW2901 - as meant
        if handler is None:
            call, refusal, is_secret = without_tool(
                handlers,
                (call_id, wire_name, arguments, raw),
                name,
                has_hint=len(answers) - len(ready) < _MOST_HINTS,
            )
            answers.append(refusal)
            unknown_is_secret |= is_secret
        else:
            call = new_record(
                Call, (call_id, handler.name, wire_name, arguments, name, raw, handler)
            )
            try:
                if cut_positions:
                    refuse_cut(len(calls) in cut_positions, arguments, handler.wire_name)
                model, coercions = handler.validate(arguments)
            except BaseException as error:
                answers.append(error_result(call, validation_error(error, tool=wire_name)))
            else:
                ready.append((len(calls), call, handler, model, coercions))
                answers.append(None)
                is_plain = is_plain and handler.is_plain
        calls.append(call)
    results = Results()
    results.calls, results._answers, results._assistant = calls, answers, assistant
    results.finish, results.finish_raw, results.provider = finish, finish_raw, provider
    results._waiting, results._is_plain, results._controls, results._unknown_is_secret = (
        ready, is_plain, None, unknown_is_secret,
    )  # fmt: skip
    keep_response(results, response)
    if finish != "tool_calls" or not calls:
        ready = _look_at_the_end(results, ready, handlers)
    elif provider.response.left_calls is not None and assistant and assistant[-1].get("content"):
        _log_warnings(results, NO_ENDING, handlers)
    if not is_plain or handlers.answer is not None:
        _settle(results, handlers, ready)
    return results


def _look_at_the_end(results: Results, ready: "list[Ready]", handlers: Handlers) -> "list[Ready]":
    """Look at a response that did not end for its calls, and return the calls that may run.

    Calls beside an error are not run: what the model would have said of them is not known. The
    provider's words may quote what the model wrote, so where a tool takes a secret they stand in
    the body of the error only.

    Raises:
        ResponseError: The response holds no calls, and the provider ended it with an error.
    """
    ending = ending_of_results(results)
    error = ending.error
    if not results.calls:
        if error is not None:
            body = response_of_results(results)
            raise failed_response(error, body, may_quote=handlers.may_hold_secrets)
        results.finish = ending.finish or results.finish
    elif error is not None:
        reason = "the provider ended the response with an error"
        for position, call, *_ in ready:
            refusal = CallError("not_run", tool=call.wire_name, text=reason)
            results._answers[position] = error_result(call, refusal)
        results._waiting = ready = []
    _log_warnings(results, ending, handlers)
    return ready


def failed_response(words: str, body: Any, *, may_quote: bool) -> ResponseError:
    """Return the error of a response that the provider ended with an error; its body has all
    words.
    """
    said = _HIDDEN_WORDS if may_quote else words[:_LONGEST_ERROR]
    return ResponseError(f"the provider ended the response with an error: {said}", body=body)


def _settle(results: Results, handlers: Handlers, ready: "list[Ready]") -> None:
    """Read the answer, if an output was asked for, and hold the calls that need approval."""
    if handlers.answer is not None:
        handlers.answer.settle(results, handlers.context)
    if not results._is_plain:
        approval.hold_unapproved(results, ready)


def _end_early(finish: Finish | None, reading: Read) -> tuple[Finish | None, frozenset[int]]:
    """Return the finish of a response with calls that ended for another reason, and
    the positions of calls cut off.
    """
    _, wire_calls, _, cut_positions, ends_in_call = reading
    if ends_in_call and _may_cut_off(finish, wire_calls[-1][2]):
        cut_positions |= {len(wire_calls) - 1}
    return finish, cut_positions


def _may_cut_off(finish: Finish | None, arguments: Any) -> bool:
    """Whether the end of a response may have cut off its last call.

    After a refusal or an error, only arguments that are text count, because an object arrives
    whole.
    """
    is_text = isinstance(arguments, (str, bytes)) or plain_text(arguments) is not None
    return finish in EARLY and (finish == "length" or is_text)


def _log_warnings(results: Results, ending: Ending, handlers: Handlers) -> None:
    """Log what a program that does not read ``warnings`` would miss,
    but not what every program meets.
    """
    for warning in urgent_warnings(results, ending):
        import logging  # noqa: PLC0415 - only warnings need it

        is_hidden = warning.rule in QUOTING and handlers.may_hold_secrets
        message = _HIDDEN_WORDS if is_hidden else warning.message
        logging.getLogger("toolshape").warning("%s: %s", warning.rule, message)
