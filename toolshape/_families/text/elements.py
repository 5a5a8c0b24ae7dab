"""Reads and writes arguments as nested elements, a mark before each tag, as MiniMax M3 does.

``<city>Rome</city>`` is the argument ``city``. An element that contains elements is an object, or
an array if its schema is an array. The elements of an array are called ``item``.
"""

from collections.abc import Callable
from typing import Any

ITEM = "item"


class Elements(list[tuple[str, Any]]):
    """The children of an element: pairs of a name and a content.

    The content is a string or further elements.

    An empty element has no children.
    """

    __slots__ = ()


def read_elements(text: str, mark: str, *, is_cut: bool = False) -> Elements:
    """Parse the elements of a call.

    Args:
        text: The text between the tags of the call.
        mark: The mark before each tag.
        is_cut: Whether the text was cut off; if it was, incomplete elements are left out.

    Raises:
        ValueError: A tag is not closed, or there is text between elements.
    """
    text_before_tags, *tags = text.split(mark)
    open_elements: list[tuple[str, Elements, list[str]]] = [("", Elements(), [text_before_tags])]
    for tag in tags:
        name, end, text_after_tag = tag.removeprefix("<").partition(">")
        if is_cut and not end:
            break
        if not end or not tag.startswith("<") or not name:
            raise ValueError("not a tag")
        if not name.startswith("/"):
            open_elements.append((name, Elements(), [text_after_tag]))
            continue
        open_name, children, element_texts = open_elements.pop()
        if name != f"/{open_name}" or not open_elements:
            raise ValueError("a tag is not closed")
        _, siblings, parent_texts = open_elements[-1]
        siblings.append((open_name, _read_content(children, "".join(element_texts))))
        parent_texts.append(text_after_tag)
    _, elements, element_texts = open_elements[0]
    if "".join(element_texts).strip() or (len(open_elements) > 1 and not is_cut):
        raise ValueError("a tag is not closed, or there is text between elements")
    return elements


def _read_content(children: Elements, text: str) -> Any:
    """Return the content of an element: its children or its text."""
    if not children:
        return text or children
    if text.strip():
        raise ValueError("there is text between elements")
    return children


def is_list(elements: Elements) -> bool:
    """Return whether elements look like the items of an array."""
    return all(name == ITEM for name, _ in elements)


def write_content(value: Any, mark: str, write: Callable[[Any], str]) -> str:
    """Write a value as the content of an element; ``write`` writes numbers, booleans and
    ``None``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        value = [(ITEM, item) for item in value]
    elif isinstance(value, dict):
        value = value.items()
    else:
        return write(value)
    return "".join(
        f"{mark}<{key}>{write_content(item, mark, write)}{mark}</{key}>" for key, item in value
    )
