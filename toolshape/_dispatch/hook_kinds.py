"""The kinds of hooks: for calls that run here, for those that a loop runs, or for both; and what refuses a wrong one."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from toolshape._context import CallContext
from toolshape._errors import UsageError
from toolshape._results import Result


class EitherHook(Protocol):
    """A hook for both drivers: called where no loop runs the tool, its ``acall`` awaited where one does."""

    def __call__(self, context: CallContext, proceed: Callable[[], Result], /) -> Result | None:
        """The hook for ``run`` and ``dispatch``."""
        ...

    async def acall(self, context: CallContext, proceed: Callable[[], Awaitable[Result]], /) -> Result | None:
        """The hook for ``arun`` and ``adispatch``, and for async tools."""
        ...


Hook: TypeAlias = (
    Callable[[CallContext, Callable[[], Result]], Result | None]
    | Callable[[CallContext, Callable[[], Awaitable[Result]]], Awaitable[Result | None]]
    | EitherHook
)
"""``def hook(context, proceed)``, ``async def``, or both: ``proceed()`` runs the rest and gives its ``Result``."""


def is_either_hook(hook: Any) -> bool:
    """Whether a hook can be called where no loop runs, and awaited where one does."""
    return inspect.iscoroutinefunction(getattr(hook, "acall", None)) and not is_async_hook(hook)


def is_loop_hook(hook: Any) -> bool:
    """Whether a hook can be awaited in a loop."""
    return is_async_hook(hook) or is_either_hook(hook)


def is_async_hook(hook: Any) -> bool:
    """Whether a hook is ``async def``, or an object whose call is."""
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(getattr(hook, "__call__", None))  # noqa: B004 - whether calling it gives a coroutine


def hook_name(hook: Any) -> str:
    """What a hook is called in messages."""
    return str(getattr(hook, "__qualname__", type(hook).__name__))


def refuse_no_hook(hook: Any) -> None:
    """Check that something can be called as a hook.

    Raises:
        UsageError: It cannot.
    """
    name = hook_name(hook)
    if not callable(hook):
        raise UsageError(f"around takes a function of a context and proceed, not {type(hook).__name__}")
    given: Any = hook
    for called, written in ((given, name), *(((given.acall, "acall"),) if is_either_hook(hook) else ())):
        try:
            inspect.signature(called).bind(None, None)
        except TypeError as error:
            raise UsageError(f"{name} cannot be a hook: write def {written}(context, proceed) ({error})") from error
        except ValueError:  # it has no signature to look at
            continue


def check_hooks(hooks: Sequence[Hook], *, is_async: bool) -> None:
    """Check that these hooks can be called on.

    Raises:
        UsageError: One is ``def`` where calls are awaited, or ``async def`` where a loop runs that cannot wait for it.
    """
    for hook in hooks:
        name = hook_name(hook)
        if is_async and not is_loop_hook(hook):
            raise UsageError(f"the hook {name} is def, which cannot be awaited: make it async def, or call dispatch")
        if not is_async and is_async_hook(hook):
            from toolshape._execution import aio  # noqa: PLC0415 - asyncio costs a sixth of what importing pydantic does

            if aio.is_running():
                raise UsageError(f"the hook {name} is async and an event loop is running: await adispatch or arun")
