"""Keeps deprecated names working: each use raises a warning that gives the new name."""

import sys
import warnings
from collections.abc import Mapping
from typing import Any


def resolve_renamed_attribute(module: str, names: Mapping[str, str], name: str) -> Any:
    """Return the attribute that replaces a deprecated name, and warn; call this in a module's ``__getattr__``.

    Raises:
        AttributeError: The name is not deprecated.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warn_renamed(f"{module}.{name}", f"{module}.{names[name]}")
    return getattr(sys.modules[module], names[name])


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of a public function that a name is deprecated."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=3)
