"""Reads the calls in a response or a stream event; raises only ``ResponseError``."""

from collections.abc import Collection
from typing import Any

from toolshape._families import family_of, recognised
from toolshape._families.wire.bodies import parse_body, to_plain_json
from toolshape._families.wire.ending import NO_ENDING, Ending
from toolshape._families.wire.provider import NO_TEXT, Completed, Provider, Read, TextDelta
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ResponseError


def read_response(provider: Provider, response: Any) -> Read:
    """Read the calls in a response; if this fails, try again without the
    list items that are not objects.

    Raises:
        ResponseError: The body is not a response of this provider's family, or is malformed.
    """
    if type(response) is dict:
        body = response
    else:
        body = body_of(response, provider)
    try:
        reading = provider.response.read(body)
    except ResponseError:
        raise
    except Exception as error:  # a broken gateway or a foreign object may hold anything
        reading = _read_without_strays(provider, body, response, error)
    if reading is None:
        family = family_of(body).family
        message = f"this is a response of {family}, " + (
            f"not of {provider.family}" if family != provider.family else "but it cannot be read"
        )
        raise ResponseError(message, body=response)
    return reading


def body_of(response: Any, *providers: Provider) -> Any:
    """Return the body of a response.

    Text is returned unparsed if all these providers send plain text, or if one of them does and the
    text is not JSON.

    Raises:
        ResponseError: The text is not JSON, and no provider reads text.
    """
    if not isinstance(response, (str, bytes, bytearray)):
        return parse_body(response)
    takes_text = [provider.response.takes_text for provider in providers]
    if not any(takes_text):
        return parse_body(response)
    if isinstance(response, str):
        text = response
    else:
        text = bytes(response).decode(errors="replace")
    if all(takes_text):
        return text
    try:
        return parse_body(response)
    except ResponseError:
        return text


def ending_of(provider: Provider, response: Any) -> Ending:
    """Return how a response ended, where its calls and its text do not say it.

    ``response`` may also be the assistant's messages of a turn that was restored, which is all that
    is left of it.
    """
    try:
        if type(response) is not dict:
            response = to_plain_json(body_of(response, provider))
        return provider.response.ending(response)
    except Exception:  # a body that could be read may hold anything beside what was read
        return NO_ENDING


def _read_without_strays(
    provider: Provider, body: Any, response: Any, error: Exception
) -> Read | None:
    if not recognised(provider, body):
        return None
    try:
        if isinstance(body, dict) and (reading := provider.response.read(_drop_strays(body))):
            return reading
    except ResponseError:
        raise
    except Exception as second_error:  # without these items, the body is still malformed
        error = second_error
    message = f"cannot read this response of {provider.family} ({type(error).__name__})"
    raise ResponseError(message, body=response) from error


def _drop_strays(node: Any) -> Any:
    """Return JSON in which each list that holds objects has lost its other items."""
    if isinstance(node, dict):
        return {key: _drop_strays(value) for key, value in node.items()}
    if not isinstance(node, list):
        return node
    objects = [_drop_strays(item) for item in node if isinstance(item, dict)]
    return objects or node


def sendable_name(given: Any) -> str:
    """Return a name as a string that can be sent; the call's ``raw`` keeps the original."""
    if isinstance(given, str):
        return given.encode(errors="replace").decode()
    return ""


def text_delta(provider: Provider, body: JsonObject, event: Any) -> TextDelta:
    """Return the text that an event adds to a stream; empty if the event cannot be read.

    For such an event, ``fold_event`` raises the error.
    """
    delta = body.pop("x-delta", None)
    if delta is not None:
        return delta  # type: ignore[no-any-return]
    try:
        return provider.response.text_delta(event)
    except Exception:  # a broken gateway may send anything
        return NO_TEXT


def fold_event(provider: Provider, body: JsonObject, event: Any) -> Collection[Completed]:
    """Merge an event of a stream into the response; return the calls that the event completes.

    Raises:
        ResponseError: The value is not an event of this provider.
    """
    try:
        return tuple(provider.response.fold(body, event))
    except ResponseError:
        raise
    except Exception as error:
        message = f"cannot read this event of {provider.family} ({type(error).__name__})"
        raise ResponseError(message, body=event) from error
