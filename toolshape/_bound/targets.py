"""Resolves the targets of a command line (``MODULE:NAME``, ``PATH.py:NAME``).

A target is a registry, a tool or another value.
"""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from toolshape._answers.output import Output
from toolshape._bound.registry import Registry, store_of
from toolshape._records.errors import ToolshapeError, UsageError, did_you_mean
from toolshape._tools.record import Record, refuse_uncallable
from toolshape._tools.tool import Tool, as_tool


class TargetError(Exception):
    """A target does not exist or could not be loaded.

    ``__cause__`` is the exception that its module raised.
    """


def load(target: str) -> Any:
    """Load ``MODULE:NAME`` or ``PATH.py:NAME``.

    Without a name, return the only registry of the module.

    Raises:
        TargetError: The name does not exist, or could not be loaded.
    """
    return _resolve_steps(target)[-1]


def _resolve_steps(target: str) -> list[Any]:
    """Return the module of a target, and the value at each step of its name."""
    place, _, path = target.rpartition(":") if _has_name(target) else (target, "", "")
    values: list[Any] = [_module(place, target)]
    if not path:
        return [*values, _only_registry(values[0], target)]
    steps = path.split(".")
    for number, step in enumerate(steps):
        current, remaining_name = values[-1], ".".join(steps[number:])
        # The name of a tool may contain dots.
        if isinstance(current, Registry) and remaining_name in current:
            return [*values, current[remaining_name]]
        if isinstance(current, Registry):
            if step not in current:
                raise TargetError(
                    f"{target}: "
                    f"{_unknown_name_message(step, [tool.name for tool in current], 'tool')}"
                )
            values.append(current[step])
        elif hasattr(current, step) and not _is_of_toolshape(getattr(current, step)):
            values.append(getattr(current, step))
        else:
            names = [
                name for name, value in vars(current).items() if isinstance(value, (Registry, Tool))
            ]
            raise TargetError(f"{target}: {place} has no {_unknown_name_message(step, names, '')}")
    return values


def _is_of_toolshape(value: Any) -> bool:
    """Whether a value is a class or function of this library, which a module
    only imports: ``shop.py:tool``.
    """
    return isinstance(value, (type, FunctionType)) and value.__module__.split(".")[0] == "toolshape"


def _has_name(target: str) -> bool:
    return ":" in target and not target.endswith(".py")


def _unknown_name_message(name: str, names: Iterable[str], kind: str) -> str:
    """Return the message for an unknown name, with the closest match and the known names."""
    names = list(names)
    hint = did_you_mean(name, names)
    known = f"; there are {', '.join(names)}" if names else ""
    if kind:
        missing = f"there is no {kind} {name!r}"
    else:
        missing = repr(name)
    return f"{missing}{f' ({hint})' if hint else ''}{known}"


def _module(place: str, target: str) -> ModuleType:
    if place.endswith(".py") or "/" in place or "\\" in place:
        return _import_file(Path(place))
    if not place.replace(".", "").isidentifier() or place.startswith("."):
        raise TargetError(f"{target!r} is not of the form MODULE:NAME or PATH.py:NAME")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            before, dot, name = place.rpartition(".")
            if dot and before != error.name and ":" not in target:
                hint = f"; for {name} in the module {before}, write {before}:{name}"
            else:
                hint = ""
            raise TargetError(
                f"there is no module {error.name!r} here or on the import path{hint}"
            ) from error
        raise _load_error(place, error) from error
    except (Exception, SystemExit) as error:
        raise _load_error(place, error) from error


def _import_file(path: Path) -> ModuleType:
    """Import a module from a file.

    Like a script, the module can import other modules from its directory.
    """
    if not path.is_file():
        raise TargetError(f"there is no file {path}")
    known = sys.modules.get(path.stem)
    if getattr(known, "__file__", None) == str(path.resolve()) and known is not None:
        return known  # Two targets in one file share one module.
    if known is None:
        name = path.stem
    else:
        name = f"{path.stem}_as_target"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is not a Python file")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Annotations and pickles look up classes in ``sys.modules``.
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _load_error(str(path), error) from error
    return module


def _load_error(place: str, error: BaseException) -> TargetError:
    """Describe a module's exception in one line, with the last place in the user's own files."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename
    ]
    user_frames = [frame for frame in frames if "toolshape" not in Path(frame.filename).parts]
    if user_frames:
        location = f" at {user_frames[-1].filename}:{user_frames[-1].lineno}"
    else:
        location = ""
    if isinstance(error, SyntaxError):
        location = f" at {error.filename}:{error.lineno}"
    return TargetError(f"{place} could not be loaded: {type(error).__name__}: {error}{location}")


def _only_registry(module: ModuleType, target: str) -> Registry:
    registries = {
        name: value for name, value in vars(module).items() if isinstance(value, Registry)
    }
    if len(registries) != 1:
        target = target.rstrip(":")
        names = ", ".join(f"{target}:{name}" for name in registries)
        raise TargetError(
            f"{target} has several registries: name one of {names}"
            if registries
            else f"{target} has no registry: name a tool, as {target}:NAME"
        )
    return next(iter(registries.values()))


def make_absolute(target: str) -> str:
    """Return the target with an absolute path, which does not depend on the working directory."""
    place, colon, path = target.rpartition(":") if _has_name(target) else (target, "", "")
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    if is_file:
        return f"{Path(place).absolute()}{colon}{path}"
    return target


def registry_of(target: str) -> Registry:
    """Return the registry that a target names.

    For a tool or a function, return a new registry with only this tool.

    Raises:
        TargetError: The target names no registry, tool or function.
    """
    value = load(target)
    if isinstance(value, Registry):
        return value
    return Registry([_as_tool(value, target)])


class Named(NamedTuple):
    """The tools, or the output, that a target names."""

    tools: Registry
    outputs: tuple[Output[Any], ...] = ()


def load_named(target: str, answers: Iterable[str] = ()) -> Named:
    """Return the tools or the output that a target names, and further outputs.

    Args:
        target: The target of the tools or the output.
        answers: The targets of the further outputs.

    Raises:
        TargetError: The target names no registry, tool, function or output, or one of ``answers``
            names no output.
    """
    value = load(target)
    further_outputs = []
    for name in answers:
        output = load(name)
        if not isinstance(output, Output):
            raise TargetError(
                f"{name} is of type {type(output).__name__}: --answer names an Output"
            )
        further_outputs.append(output)
    if isinstance(value, Output):
        return Named(Registry(), (value, *further_outputs))
    return Named(
        value if isinstance(value, Registry) else Registry([_as_tool(value, target)]),
        tuple(further_outputs),
    )


def registry_beside(target: str) -> Registry:
    """Return the only registry in the module of a target.

    Raises:
        TargetError: The module has no registry, or several.
    """
    if _has_name(target):
        place = target.rpartition(":")[0]
    else:
        place = target
    return _only_registry(_module(place, place), place)


def registry_of_tool(target: str) -> tuple[Registry, str]:
    """Return the registry of the tool that a target names, and the tool's name.

    If the target names a tool outside a registry, return a new registry with only this tool.

    Raises:
        TargetError: The target names no single tool.
    """
    values = _resolve_steps(target)
    tool = _tool(values[-1], target)
    registry = next(
        (value for value in (values[-1], values[-2]) if isinstance(value, Registry)), None
    )
    return registry or Registry([tool]), tool.name


def tool_of(target: str) -> Tool[..., Any]:
    """Return the tool that a target names.

    A function becomes a tool, and a registry must have exactly one tool.

    Raises:
        TargetError: The target names no single tool.
    """
    return _tool(load(target), target)


def _tool(value: Any, target: str) -> Tool[..., Any]:
    if isinstance(value, Registry):
        if len(value) == 1:
            return next(iter(value))
        names = ", ".join(tool.name for tool in value)
        raise TargetError(
            f"{target} is a registry: name one of its tools, as {target}.NAME ({names})"
        )
    return _as_tool(value, target)


def _as_tool(value: Any, target: str) -> Tool[..., Any]:
    if not callable(value):
        if isinstance(value, Output):
            problem = "an output: name a registry, a tool or a function"
        else:
            problem = None
        raise TargetError(
            f"{target} is "
            f"{problem or f'of type {type(value).__name__}: name a registry, a tool or a function'}"
        )
    try:
        return as_tool(value)
    except ToolshapeError as error:
        raise TargetError(str(error)) from error


def load_injected(given: Iterable[str]) -> dict[str, Any]:
    """Load the values to inject, each given as ``NAME=MODULE:FACTORY``.

    If a target is callable, load its return value.

    Raises:
        TargetError: A target cannot be loaded, or its factory raises.
    """
    values: dict[str, Any] = {}
    for option in given:
        name, _, target = option.partition("=")
        if not (name.isidentifier() and target):
            raise TargetError(
                f"--inject {option!r} is not of the form NAME=MODULE:FACTORY or NAME=PATH.py:VALUE"
            )
        value = load(target)
        try:
            values[name] = value() if callable(value) else value
        except (Exception, SystemExit) as error:
            raise TargetError(
                f"--inject {name}: {target} raised {type(error).__name__}: {error}"
            ) from error
    return values


def refuse_missing(record: Record, values: Mapping[str, Any]) -> None:
    """Check that a tool can be called with these injected values.

    Raises:
        TargetError: A value is missing.
    """
    try:
        refuse_uncallable(record, values)
    except UsageError as error:
        raise TargetError(f"{error}; pass a value with --inject NAME=MODULE:FACTORY") from error


def refuse_unread(
    names: Iterable[str], registry: Registry, declared: Collection[str], who: str
) -> None:
    """Check that some tool declares each injected value.

    A registry with hooks passes: hooks may read any value.

    Raises:
        TargetError: No tool declares one of the injected values.
    """
    unread = sorted(set(names) - set(declared))
    if unread and not store_of(registry).contents.hooks:
        if declared:
            accepted = f"only {', '.join(sorted(declared))}"
        else:
            accepted = "no injected values"
        raise TargetError(f"--inject {unread[0]} has no effect: {who} {accepted}")
