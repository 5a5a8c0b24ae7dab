"""What the author's validators read as ``info.context``: one for the calls of a response.

It is passed to pydantic where arguments are validated, and is never stored: not in messages,
tokens, ledgers or traces.
"""

import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

_CONTEXT: ContextVar[Any] = ContextVar("toolshape_validation_context", default=None)


_UNCHANGED = contextlib.nullcontext()


def validating_with(context: Any) -> contextlib.AbstractContextManager[None]:
    """Validate everything within this block in a context; ``None`` leaves the context as it is."""
    if context is None:
        return _UNCHANGED
    return _set(context)


@contextlib.contextmanager
def _set(context: Any) -> Generator[None]:
    token = _CONTEXT.set(context)
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def in_context(validate: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a pydantic validator's method that passes the context of the moment."""
    return lambda value: validate(value, context=_CONTEXT.get())
