"""A target as it is typed in; the registry, tool or value that it names out, or a sentence that says why not."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from toolshape._errors import ToolshapeError, did_you_mean
from toolshape._registry import Registry
from toolshape._tool import Tool, as_tool


class TargetError(Exception):
    """A target names nothing, or what it names could not be loaded; ``__cause__`` is what its module raised."""


def load(target: str) -> Any:
    """Load ``MODULE:NAME`` or ``PATH.py:NAME``; without a name, the one registry of the module.

    Raises:
        TargetError: There is nothing of this name.
    """
    return _way_to(target)[-1]


def _way_to(target: str) -> list[Any]:
    """The module, and what each part of the name leads to."""
    place, _, path = target.rpartition(":") if _has_name(target) else (target, "", "")
    found: list[Any] = [_module(place, target)]
    if not path:
        return [*found, _only_registry(found[0], target)]
    steps = path.split(".")
    for number, step in enumerate(steps):
        last, rest = found[-1], ".".join(steps[number:])
        if isinstance(last, Registry) and rest in last:  # a tool's name may hold dots
            return [*found, last[rest]]
        if isinstance(last, Registry):
            if step not in last:
                raise TargetError(f"{target}: {_no_such(step, [tool.name for tool in last], 'tool')}")
            found.append(last[step])
        elif hasattr(last, step):
            found.append(getattr(last, step))
        else:
            names = [name for name, one in vars(last).items() if isinstance(one, (Registry, Tool))]
            raise TargetError(f"{target}: {place} has no {_no_such(step, names, '')}")
    return found


def _has_name(target: str) -> bool:
    return ":" in target and not target.endswith(".py")


def _no_such(name: str, names: Iterable[str], kind: str) -> str:
    """That there is nothing of a name, what was probably meant, and what there is."""
    names = list(names)
    hint = did_you_mean(name, names)
    there = f"; there are {', '.join(names)}" if names else ""
    said = f"there is no {kind} {name!r}" if kind else repr(name)
    return f"{said}{f' ({hint})' if hint else ''}{there}"


def _module(place: str, target: str) -> ModuleType:
    if place.endswith(".py") or "/" in place or "\\" in place:
        return _of_file(Path(place))
    if not place.replace(".", "").isidentifier() or place.startswith("."):
        raise TargetError(f"{target!r} is not of the form MODULE:NAME or PATH.py:NAME")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            before, dot, name = place.rpartition(".")
            hint = (
                f"; for {name} of a module write {before}:{name}"
                if dot and before != error.name and ":" not in target
                else ""
            )
            raise TargetError(f"there is no module {error.name!r} here or on the path{hint}") from error
        raise _failed(place, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(place, error) from error


def _of_file(path: Path) -> ModuleType:
    """The module in a file; what is beside it can be imported by it, as when Python runs a script."""
    if not path.is_file():
        raise TargetError(f"there is no file {path}")
    known = sys.modules.get(path.stem)
    if getattr(known, "__file__", None) == str(path.resolve()) and known is not None:
        return known  # so that two targets of one file are of one module
    name = path.stem if known is None else f"{path.stem}_as_target"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is not a Python file")
    sys.path.insert(0, str(path.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations and pickles look for its classes there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(str(path), error) from error
    return module


def _failed(place: str, error: BaseException) -> TargetError:
    """What a module raised, in a line, with the place in the user's own files."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "importlib" not in one.filename]
    own = [one for one in frames if "toolshape" not in Path(one.filename).parts]
    at = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    if isinstance(error, SyntaxError):
        at = f" at {error.filename}:{error.lineno}"
    return TargetError(f"{place} could not be loaded: {type(error).__name__}: {error}{at}")


def _only_registry(module: ModuleType, target: str) -> Registry:
    found = {name: one for name, one in vars(module).items() if isinstance(one, Registry)}
    if len(found) != 1:
        target = target.rstrip(":")
        names = ", ".join(f"{target}:{name}" for name in found)
        raise TargetError(
            f"name one of {names}" if found else f"{target} has no registry: name a tool, as {target}:NAME"
        )
    return next(iter(found.values()))


def absolute(target: str) -> str:
    """The same target, wherever it is loaded: a file by its whole path."""
    place, colon, path = target.rpartition(":") if _has_name(target) else (target, "", "")
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    return f"{Path(place).absolute()}{colon}{path}" if is_file else target


def registry_of(target: str) -> Registry:
    """The registry that a target names, or one of the single tool or function that it names.

    Raises:
        TargetError: It names nothing of the kind.
    """
    found = load(target)
    return found if isinstance(found, Registry) else Registry([_as_tool(found, target)])


def registry_beside(target: str) -> Registry:
    """The one registry of the module that a target is in.

    Raises:
        TargetError: There is none, or there are several.
    """
    place = target.rpartition(":")[0] if _has_name(target) else target
    return _only_registry(_module(place, place), place)


def registry_of_tool(target: str) -> tuple[Registry, str]:
    """The registry of the tool that a target names, and the tool's name; one of its own where it stands alone.

    Raises:
        TargetError: It names no single tool.
    """
    way = _way_to(target)
    made = _tool(way[-1], target)
    registry = next((one for one in (way[-1], way[-2]) if isinstance(one, Registry)), None)
    return registry or Registry([made]), made.name


def tool_of(target: str) -> Tool[..., Any]:
    """The tool that a target names; a function becomes one.

    Raises:
        TargetError: It names no single tool.
    """
    return _tool(load(target), target)


def _tool(found: Any, target: str) -> Tool[..., Any]:
    if isinstance(found, Registry):
        if len(found) == 1:
            return next(iter(found))
        names = ", ".join(tool.name for tool in found)
        raise TargetError(f"{target} is a registry: name one of its tools, as {target}.NAME ({names})")
    return _as_tool(found, target)


def _as_tool(found: Any, target: str) -> Tool[..., Any]:
    if not callable(found):
        raise TargetError(f"{target} is of type {type(found).__name__}: name a registry, a tool or a function")
    try:
        return as_tool(found)
    except ToolshapeError as error:
        raise TargetError(str(error)) from error


def injected(given: Iterable[str]) -> dict[str, Any]:
    """The values to inject, from ``NAME=MODULE:FACTORY`` each: a function is called, anything else is the value.

    Raises:
        TargetError: One cannot be loaded, or its factory raised.
    """
    values: dict[str, Any] = {}
    for one in given:
        name, _, target = one.partition("=")
        if not (name.isidentifier() and target):
            raise TargetError(f"--inject {one!r} is not of the form NAME=MODULE:FACTORY or NAME=PATH.py:VALUE")
        found = load(target)
        try:
            values[name] = found() if callable(found) else found
        except (Exception, SystemExit) as error:
            raise TargetError(f"--inject {name}: {target} raised {type(error).__name__}: {error}") from error
    return values
