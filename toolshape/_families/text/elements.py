"""Reads and writes arguments as nested elements, as MiniMax M3 writes them: ``<city>Rome</city>``, with a mark before each tag.

An element that holds elements is an object or, where the schema says so, an array; those of an array are called ``item``.
"""

from collections.abc import Callable
from typing import Any

ITEM = "item"


class Elements(list[tuple[str, Any]]):
    """The children of an element, by name: strings or further elements. Without children, the element is empty."""

    __slots__ = ()


def read_elements(text: str, mark: str, *, is_cut: bool = False) -> Elements:
    """Parse the elements of a call.

    Args:
        text: The text between the tags of the call.
        mark: The mark before each tag.
        is_cut: Whether the text ends too early: then an element that is not complete is left out.

    Raises:
        ValueError: A tag is not closed, or text stands beside elements.
    """
    first, *tags = text.split(mark)
    open_elements: list[tuple[str, Elements, list[str]]] = [("", Elements(), [first])]
    for tag in tags:
        name, end, rest = tag.removeprefix("<").partition(">")
        if is_cut and not end:
            break
        if not end or not tag.startswith("<") or not name:
            raise ValueError("not a tag")
        if not name.startswith("/"):
            open_elements.append((name, Elements(), [rest]))
            continue
        opened, children, texts = open_elements.pop()
        if name != f"/{opened}" or not open_elements:
            raise ValueError("a tag is not closed")
        _, siblings, around = open_elements[-1]
        siblings.append((opened, _content(children, "".join(texts))))
        around.append(rest)
    _, elements, texts = open_elements[0]
    if "".join(texts).strip() or (len(open_elements) > 1 and not is_cut):
        raise ValueError("a tag is not closed, or text stands beside elements")
    return elements


def _content(children: Elements, text: str) -> Any:
    """Return what an element holds: its children or its text."""
    if not children:
        return text or children
    if text.strip():
        raise ValueError("text stands beside elements")
    return children


def is_list(elements: Elements) -> bool:
    """Return whether elements look like the items of an array."""
    return all(name == ITEM for name, _ in elements)


def write_content(value: Any, mark: str, write: Callable[[Any], str]) -> str:
    """Write what an element holds; ``write`` writes numbers and JSON's constants."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        value = [(ITEM, item) for item in value]
    elif isinstance(value, dict):
        value = value.items()
    else:
        return write(value)
    return "".join(f"{mark}<{key}>{write_content(item, mark, write)}{mark}</{key}>" for key, item in value)
