"""Empty modules in place of packages that a benchmark of another library's code does not need, such as torch."""

import importlib.abc
import importlib.machinery
import types
from collections.abc import Callable
from typing import Any, ClassVar

from pydantic_core import core_schema

__all__ = ["EmptyModule", "EmptyType", "Finder"]


class EmptyType(type):
    """The type of an empty class, whose attributes are all empty classes."""

    def __getattr__(cls, name: str) -> Any:
        return add_empty_class(cls, name, cls.__module__)


class EmptyModule(types.ModuleType):
    """A module whose attributes are all empty classes."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return add_empty_class(self, name, self.__name__)


def add_empty_class(owner: Any, name: str, module: str) -> Any:
    """Set an attribute to an empty class, which pydantic accepts as a type that admits any value, and return the class."""
    if name.startswith("__"):
        raise AttributeError(name)
    schema = classmethod(lambda *_: core_schema.any_schema())
    empty_class = EmptyType(
        name, (), {"__module__": module, "__get_pydantic_core_schema__": schema}
    )
    setattr(owner, name, empty_class)
    return empty_class


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Provides an empty module in place of each module for which ``is_empty`` is true of its name."""

    def __init__(self, is_empty: Callable[[str], bool]) -> None:
        self.is_empty = is_empty

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - the interface of importlib
        return (
            importlib.machinery.ModuleSpec(name, self, is_package=True)
            if self.is_empty(name)
            else None
        )

    def create_module(self, spec: Any) -> types.ModuleType:
        return EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass
