"""The kinds of hooks (sync, async, or both), and what is none."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from toolshape._function import calling
from toolshape._records.context import CallContext
from toolshape._records.errors import UsageError
from toolshape._records.result import Result


class EitherHook(Protocol):
    """A hook for both drivers: an event loop awaits its ``acall``; without a
    loop, the hook itself is called.
    """

    def __call__(self, context: CallContext, proceed: Callable[[], Result], /) -> Result | None:
        """Run as the hook of ``run`` and ``dispatch``."""
        ...

    async def acall(
        self, context: CallContext, proceed: Callable[[], Awaitable[Result]], /
    ) -> Result | None:
        """Run as the hook of ``arun`` and ``adispatch``, and of async tools."""
        ...


Hook: TypeAlias = (
    Callable[[CallContext, Callable[[], Result]], Result | None]
    | Callable[[CallContext, Callable[[], Awaitable[Result]]], Awaitable[Result | None]]
    | EitherHook
)
"""A hook: ``def hook(context, proceed)``, ``async def``, or both; ``proceed()``
runs the inner hooks and the tool.
"""


def is_either_hook(hook: Any) -> bool:
    """Whether a hook can be called without an event loop, and awaited in an event loop."""
    return inspect.iscoroutinefunction(getattr(hook, "acall", None)) and not is_async_hook(hook)


def is_loop_hook(hook: Any) -> bool:
    """Whether a hook can be awaited in an event loop."""
    return is_async_hook(hook) or is_either_hook(hook)


def is_async_hook(hook: Any) -> bool:
    """Whether a hook is ``async def``, or an object whose ``__call__`` is ``async def``."""
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(
        getattr(hook, "__call__", None)  # noqa: B004 - checks the method, not callability
    )


def hook_name(hook: Any) -> str:
    """Return the name of a hook for error messages."""
    return str(getattr(hook, "__qualname__", type(hook).__name__))


def check_is_hook(hook: Any) -> None:
    """Check that an object can be called as a hook.

    Raises:
        UsageError: The object cannot be called with a context and ``proceed``.
    """
    name = hook_name(hook)
    if not callable(hook):
        raise UsageError(
            f"around takes a function hook(context, proceed), not {type(hook).__name__}"
        )
    candidate: Any = hook
    for function, function_name in (
        (candidate, name),
        *(((candidate.acall, "acall"),) if is_either_hook(hook) else ()),
    ):
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            raise UsageError(
                f"{name} cannot be a hook: write def {function_name}(context, proceed) ({error})"
            ) from error
        except ValueError:  # some callables have no signature to check
            continue


def check_hooks(hooks: Sequence[Hook], *, is_async: bool) -> None:
    """Check that the driver can run these hooks.

    Raises:
        UsageError: A hook is ``def`` but the calls are awaited. Or a hook is ``async def``, the
            calls are not awaited, and an event loop is running.
    """
    for hook in hooks:
        name = hook_name(hook)
        if is_async and not is_loop_hook(hook):
            raise UsageError(
                f"the hook {name} is def, which cannot be awaited: make it async def, or call "
                "dispatch"
            )
        if not is_async and is_async_hook(hook) and calling.aio.is_running():
            raise UsageError(
                f"the hook {name} is async and an event loop is running: await adispatch or arun"
            )
