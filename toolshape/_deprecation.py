"""Deprecated names: each still works, and warns with the name that replaces it."""

import sys
import warnings
from collections.abc import Mapping
from typing import Any


def renamed_attribute(module: str, names: Mapping[str, str], name: str) -> Any:
    """Return the attribute that an old name stands for, with a warning: the body of a module's ``__getattr__``.

    Raises:
        AttributeError: The name is not an old name.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warn_renamed(f"{module}.{name}", f"{module}.{names[name]}")
    return getattr(sys.modules[module], names[name])


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of a public function that a name was replaced."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=3)
