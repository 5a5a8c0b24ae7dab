"""Finds a fake's tools in a request, and writes arguments in the form that it shows."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from toolshape._families.wire.provider import Choice, Provider
from toolshape._families.wire.server import RequestRead, SentTool
from toolshape._records.calls import Strictness
from toolshape._records.errors import ExportError
from toolshape._tools.handler import Handlers
from toolshape._tools.shape import Shape, compile_shapes
from toolshape._tools.tool import Tool

_WAYS: tuple[Strictness, ...] = ("auto", False, True)


class Form(NamedTuple):
    """A tool in one of the forms that a provider accepts.

    ``takes`` tells whether arguments in this form are valid.
    """

    shape: Shape
    schema: Any
    takes: Callable[[Any], bool]


def forms_of(provider: Provider, tool: Tool[..., Any]) -> list[Form]:
    """Return the forms in which a tool can be sent to a provider: default, lenient, and strict."""
    forms: list[Form] = []
    for strict in _WAYS:
        try:
            [shape] = compile_shapes([tool], provider, strict, None).compiled
        except ExportError:
            continue
        forms.append(
            Form(shape, schema_in(provider, json.loads(shape.entry)), _make_checker(shape))
        )
    return forms


def schema_in(provider: Provider, entry: Any) -> Any:
    """Return the schema in a tool's entry, as the provider's server reads it from a request."""
    request = provider.request.keywords(provider.request.gather([entry]), Choice(provider.name))
    # Gemini's SDK moves these fields to the top of the body.
    body = {
        **request,
        **request.get("config", {}),
    }
    if provider.server is None:
        parsed = None
    else:
        parsed = provider.server.read_request(body)
    if parsed is not None and parsed.tools:
        return parsed.tools[0].schema
    return None


def _make_checker(shape: Shape) -> Callable[[Any], bool]:
    handlers = Handlers({shape.wire_name: shape})

    def takes(arguments: Any) -> bool:
        handler = handlers.find(shape.wire_name)
        return handler is not None and handler.received(arguments) is not None

    return takes


def sent_tool(request: RequestRead, names: set[str]) -> SentTool | None:
    """Return the first tool in a request that has one of these names, or ``None``."""
    return next((tool for tool in request.tools if tool.name in names), None)


def sent_form(forms: list[Form], sent: SentTool) -> Form | None:
    """Return the form in which a tool was sent, or ``None`` if its schema
    is not one that toolshape wrote.
    """
    return next((form for form in forms if form.schema == sent.schema), None)


def write_shown_arguments(form: Form | None, arguments: Any) -> Any:
    """Encode canonical arguments in the tool's sent form.

    If they cannot be encoded, return them unchanged.
    """
    if form is None or form.shape.out is None or not isinstance(arguments, dict):
        return arguments
    try:
        return form.shape.out(arguments)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return arguments
