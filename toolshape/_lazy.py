"""Modules of a package that are imported when they are first used.

In: the name of a package, and of the modules that few programs need or that take long to import.
Out: the package's ``__getattr__``. Code that needs such a module imports its package at the top, as
usual, and writes ``package.module.name``; only the package says which modules come later, and why.
"""

import importlib
from collections.abc import Callable
from types import ModuleType


def import_later(package: str, *modules: str) -> Callable[[str], ModuleType]:
    """Return the ``__getattr__`` of a package: it imports these modules when they are first read.

    Python keeps an imported module as an attribute of its package, so each is looked for once.
    """

    def __getattr__(name: str) -> ModuleType:  # noqa: N807 - it becomes the package's own
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return __getattr__
