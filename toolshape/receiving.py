"""Bodies that nobody vouches for: what a provider's reader makes of them, or a ``ResponseError``, and nothing else."""

from collections.abc import Collection
from typing import Any

from toolshape.calls import JsonObject, WireCall
from toolshape.errors import ResponseError
from toolshape.provider import Provider, Reading, recognised

__all__ = ["folded", "reading_of"]


def reading_of(provider: Provider, body: Any) -> Reading:
    """What a body says; what stands among its parts and is none is passed over.

    Raises:
        ResponseError: It has the form of a response, and is none.
    """
    if not recognised(provider, body):
        raise ResponseError(f"not a response of {provider.family}", body=body)
    try:
        reading = _read(provider, body)
    except ResponseError:
        raise
    except Exception as error:  # a broken gateway, or somebody's object: anything may be anywhere
        said = f"a response of {provider.family} that cannot be read ({type(error).__name__})"
        raise ResponseError(said, body=body) from error
    if all(map(_is_plain, reading.calls)):
        return reading
    return reading._replace(calls=[_sendable(call) for call in reading.calls])


def _read(provider: Provider, body: Any) -> Reading:
    try:
        return provider.read(body)
    except ResponseError:
        raise
    except Exception:
        if not isinstance(body, dict):
            raise
        return provider.read(_without_strays(body))


def _without_strays(node: Any) -> Any:
    """JSON whose lists of objects hold objects alone."""
    if isinstance(node, dict):
        return {key: _without_strays(value) for key, value in node.items()}
    if not isinstance(node, list):
        return node
    objects = [_without_strays(one) for one in node if isinstance(one, dict)]
    return objects or node


def _is_plain(call: WireCall) -> bool:
    return type(call.id) is str and type(call.wire_name) is str and call.id.isascii() and call.wire_name.isascii()


def _sendable(call: WireCall) -> WireCall:
    """A call whose id and name are texts that can be sent; without an id, it is given one later."""
    given: Any = call.id
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    try:
        call = call._replace(id=given if isinstance(given, str) and given.encode() else "")
    except UnicodeEncodeError:
        call = call._replace(id="")
    name: Any = call.wire_name
    return call._replace(wire_name=name.encode(errors="replace").decode()) if isinstance(name, str) else call


def folded(provider: Provider, body: JsonObject, event: Any) -> Collection[int]:
    """Put an event of a stream into the response that it adds up to; the positions of the calls that are complete.

    Raises:
        ResponseError: It is no event of this provider's.
    """
    try:
        return tuple(provider.fold(body, event))
    except ResponseError:
        raise
    except Exception as error:
        said = f"an event of {provider.family} that cannot be read ({type(error).__name__})"
        raise ResponseError(said, body=event) from error
