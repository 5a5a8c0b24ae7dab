"""Tools of ours and a request in; as which of its tools each was sent, and how its arguments are written there, out."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from toolshape._calls import Strictness
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.shape import Shape, shapes
from toolshape._errors import ExportError
from toolshape._tool import Tool
from toolshape._wire.provider import Choice, Provider
from toolshape._wire.server import RequestRead, SentTool

_WAYS: tuple[Strictness, ...] = ("auto", False, True)


class Form(NamedTuple):
    """A tool in a form that a provider can be sent: ``takes`` says whether arguments in this form are valid."""

    shape: Shape
    schema: Any
    takes: Callable[[Any], bool]


def forms_of(provider: Provider, tool: Tool[..., Any]) -> list[Form]:
    """The forms in which a provider can be sent a tool: as it is by default, lenient, and strict."""
    found: list[Form] = []
    for strict in _WAYS:
        try:
            [shape] = shapes([tool], provider, strict, None)
        except ExportError:
            continue
        found.append(Form(shape, _schema_in(provider, json.loads(shape.entry)), _taker(shape)))
    return found


def _schema_in(provider: Provider, entry: Any) -> Any:
    """The schema of an entry, as the server reads it in a request."""
    request = provider.request.keywords(provider.request.gather([entry]), Choice(provider.name))
    body = {**request, **request.get("config", {})}  # the SDK of Gemini unwraps it
    read = None if provider.server is None else provider.server.read_request(body)
    return read.tools[0].schema if read is not None and read.tools else None


def _taker(shape: Shape) -> Callable[[Any], bool]:
    handlers = Handlers({shape.wire_name: shape})

    def takes(arguments: Any) -> bool:
        handler = handlers.find(shape.wire_name)
        return handler is not None and handler.received(arguments) is not None

    return takes


def sent_tool(request: RequestRead, names: set[str]) -> SentTool | None:
    """The tool of a request that is sent under one of some names."""
    return next((one for one in request.tools if one.name in names), None)


def sent_form(forms: list[Form], sent: SentTool) -> Form | None:
    """The form in which a tool was sent; ``None`` where somebody else has made its schema."""
    return next((one for one in forms if one.schema == sent.schema), None)


def written(form: Form | None, arguments: Any) -> Any:
    """Canonical arguments in the form that was sent; a mistake that no schema admits as it is."""
    if form is None or form.shape.out is None or not isinstance(arguments, dict):
        return arguments
    try:
        return form.shape.out(arguments)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return arguments
