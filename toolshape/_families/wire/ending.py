"""How a response ended beyond its calls and text: an error, a pause, what waits.

A family's ``ending`` looks at the whole body. So nobody asks it for a response that ended with
calls of tools, as most do, unless somebody reads ``warnings`` or ``waits_for_app``.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from toolshape._records.calls import Finish
from toolshape._records.result import ResponseWarning, WaitingItem
from toolshape._records.shown import escape_invisible

# Characters of what a provider says; a call that it could not read may stand in it.
_LONGEST_WORDS = 2_000


class Ending(NamedTuple):
    """What a family found in a body.

    ``error`` holds the provider's words if the response failed; it is empty if the provider only
    says that it did. ``finish`` is the finish of a response without calls, if its finish reason
    does not say it. ``waiting`` holds the items that the app must answer. ``warnings`` is the rest:
    what was not read, or what the provider could not read.
    """

    error: str | None = None
    finish: Finish | None = None
    waiting: tuple[WaitingItem, ...] = ()
    warnings: tuple[ResponseWarning, ...] = ()


NO_ENDING = Ending()


def no_ending(_: Any) -> Ending:
    """Return nothing: the default of ``ResponseForm.ending``."""
    return NO_ENDING


def error_words(*errors: Any) -> str | None:
    """Return the words of the first error that is there, or ``None``; an object is written as
    JSON.
    """
    for error in errors:
        if error:
            if isinstance(error, str):
                text = error
            else:
                text = json.dumps(error, ensure_ascii=False, default=str)
            return escape_invisible(text[:_LONGEST_WORDS])
    return None


def malformed(reason: Any, words: Any = None) -> ResponseWarning:
    """Return the warning that the provider could not read what the model wrote."""
    said = f": {error_words(words)}" if words else ""
    message = (
        f"the provider could not read the model's call ({reason}), so no tool was called{said}: "
        "ask the model again"
    )
    return ResponseWarning("malformed_call", "", message)


def unread(what: str) -> ResponseWarning:
    """Return the warning that a part of the response, which may be a call, was not read."""
    return ResponseWarning(
        "unread", "", f"{what} was not read: if it is a call, nobody has answered it"
    )


def not_over(reason: Any, what_to_do: str) -> ResponseWarning:
    """Return the warning that the model's turn is not over."""
    return ResponseWarning("not_over", "", f"the turn is not over ({reason}): {what_to_do}")


def events_lost() -> ResponseWarning:
    """Return the warning that numbered events of the stream are missing."""
    message = (
        "events of the stream are missing, so a part of its text or of a call may be: ask again "
        "if it matters"
    )
    return ResponseWarning("events_lost", "", message)


def other_choice(count: int) -> ResponseWarning:
    """Return the warning that calls stand in an alternative answer, or
    in what a gateway made of one.
    """
    message = (
        f"{count} other choice{'s' * (count != 1)} of the response also call tools; only the "
        "first choice was read, and "
        "nothing else was run: ask for one choice, or pass the choice that you mean"
    )
    return ResponseWarning("other_choice", "", message)


def without_calls(ending: Ending, ids: Collection[str]) -> Ending:
    """Return the ending without the items that are calls of a tool here, such as a search that one
    app answers by itself and another by a tool.
    """
    if not any(item.id in ids for item in ending.waiting):
        return ending
    waiting = tuple(item for item in ending.waiting if item.id not in ids)
    others = tuple(each for each in ending.warnings if each.rule != "waits_for_app")
    return ending._replace(waiting=waiting, warnings=(*others, *waits(waiting)))


def waits(items: Iterable[WaitingItem]) -> tuple[ResponseWarning, ...]:
    """Return a warning for each item that waits for the app."""
    return tuple(
        ResponseWarning(
            "waits_for_app",
            "",
            f"the model waits for the app: {item.kind} ({escape_invisible(item.id)}) is no call of "
            "a tool here; answer it with the provider's own message, then ask again "
            "(results.waits_for_app holds it)",
        )
        for item in items
    )
