"""The public face as text: each public name, its signature, and the public members of classes with theirs.

``python tests/public_face.py`` prints it; tests/unit/public_face.txt holds what it is meant to be.
"""

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

MODULES = (
    "toolshape",
    "toolshape.testing",
    "toolshape.evals",
    "toolshape.trace",
    "toolshape.contract",
    "toolshape.provider",
    "toolshape.text",
)


def lines() -> Iterator[str]:
    """One line for each name and each member."""
    for module in MODULES:
        holder = importlib.import_module(module)
        for name in sorted(holder.__all__):
            thing = getattr(holder, name)
            yield f"{module}.{name}{signature(thing)}"
            if isinstance(thing, type) and thing.__module__.startswith("toolshape"):
                yield from members(f"{module}.{name}", thing)


def members(path: str, cls: type[Any]) -> Iterator[str]:
    """The public members that the class itself, or a base of ours, has."""
    found = {
        name: member
        for base in reversed(cls.__mro__)
        if base.__module__.startswith("toolshape")
        for name, member in vars(base).items()
        if not name.startswith("_")
    }
    for name, member in sorted(found.items()):
        if isinstance(member, property):
            yield f"{path}.{name} (property)"
        elif callable(getattr(member, "__func__", member)):
            yield f"{path}.{name}{signature(getattr(member, '__func__', member))}"
        else:
            yield f"{path}.{name} (attribute)"
    for name in getattr(cls, "__dataclass_fields__", ()):
        if name not in found and not name.startswith("_"):
            yield f"{path}.{name} (attribute)"


def signature(thing: Any) -> str:
    """The parameters of what can be called, without annotations, which are not the same text on every Python."""
    if isinstance(thing, type) and type(thing) is not types.GenericAlias:
        is_ours = thing.__module__.startswith("toolshape")
        if not is_ours or not (vars(thing).get("__init__") or hasattr(thing, "_fields")):
            return ""
    elif not inspect.isfunction(thing):
        return ""  # a type alias, which some Pythons take for something to call
    found = inspect.signature(thing)
    empty = inspect.Parameter.empty
    plain = [parameter.replace(annotation=empty) for parameter in found.parameters.values()]
    return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.Signature(plain))).replace("mappingproxy", "")


if __name__ == "__main__":
    print("\n".join(lines()))
