"""Finds constraints that pydantic takes at a definition, and that then refuse each call."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from pydantic_core import SchemaValidator, ValidationError

from toolshape._function.core_schema.authors import FUNCTIONS, is_authors_code, is_of_pydantic
from toolshape._function.core_schema.nodes import (
    LEFT_ALONE,
    Definitions,
    Node,
    definitions_of,
    rebuild,
)
from toolshape._function.core_schema.two import (
    compile_validator,
    validates_default,
    with_definitions,
)

_SAMPLES: Mapping[str, Any] = {
    "bool": True,
    "int": 1,
    "float": 1.0,
    "decimal": Decimal(1),
    "str": "a",
    "bytes": b"a",
    "date": datetime.date(2000, 1, 1),
    "datetime": datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc),
    "time": datetime.time(1),
    "timedelta": datetime.timedelta(1),
    "uuid": UUID(int=1),
}
"""A value of each kind: whether a constraint can be applied does not depend on the value."""


def require_fitting_constraints(nodes: Iterable[Node]) -> None:
    """Try each constraint that pydantic applies in a step of its own on a value
    of the type that it constrains.

    Raises:
        TypeError: A constraint cannot be applied, so that each call would be refused. The message
            is pydantic's own.
    """
    for node in nodes:
        if node["type"] == "chain":
            steps = node.get("steps", ())
        else:
            steps = ()
        if steps:
            sample = _SAMPLES.get(steps[0]["type"])
        else:
            sample = None
        if sample is not None:
            for step in steps[1:]:
                if step["type"] in FUNCTIONS and is_of_pydantic(step["function"]["function"]):
                    _try(step, sample)


def _try(constraint: Node, sample: Any) -> None:
    try:
        SchemaValidator(cast("Any", constraint)).validate_python(sample)
    except TypeError:
        raise
    except Exception:  # noqa: S110 - the constraint was applied; it refuses the sample, or needs more than its node
        pass


_TAKES_OBJECTS = frozenset(
    {"date", "datetime", "time", "timedelta", "set", "frozenset", "tuple", "deque", "bytes",
    "decimal", "complex", "fraction"}
)  # fmt: skip
"""The kinds that take only Python objects where they are strict and a validator of the
author's stands before them: what such a validator returns is Python to pydantic, and
JSON has none of these (2.14.4).
"""


def find_unusable(core: Node, nodes: Iterable[Node]) -> list[str]:
    """Return what no call can use: a default that pydantic itself refuses, and a strict
    place behind the author's code.

    Args:
        core: The core schema.
        nodes: Its nodes.
    """
    if not any(map(_may_be_unusable, nodes)):
        return []
    definitions, found = definitions_of(core), dict[str, None]()

    def look(*, behind_code: bool) -> Callable[[Node, Node | None], Node | None]:
        def at_node(node: Node, config: Node | None) -> Node | None:
            found.update(
                dict.fromkeys(_unusable(node, config, definitions, behind_code=behind_code))
            )
            if behind_code or node["type"] not in _GIVEN or not is_authors_code(node):
                return None
            rebuild(node["schema"], _as_it_is, LEFT_ALONE, config, look(behind_code=True))
            return node

        return at_node

    rebuild(core, _as_it_is, LEFT_ALONE, None, look(behind_code=False))
    return list(found)


_GIVEN = frozenset({"function-before", "function-wrap"})


def _as_it_is(node: Node, config: Node | None) -> Node:  # noqa: ARG001 - a change of a core schema
    return node


def _may_be_unusable(node: Node) -> bool:
    return bool(
        node.get("validate_default")
        or is_authors_code(node)
        or node.get("config", {}).get("validate_default")
    )


def _unusable(
    node: Node, config: Node | None, definitions: Definitions, *, behind_code: bool
) -> Iterator[str]:
    own: bool | None = node.get("strict")
    if own is None:
        is_strict = (config or {}).get("strict")
    else:
        is_strict = own
    if behind_code and is_strict and node["type"] in _TAKES_OBJECTS:
        if config and "title" in config:
            where = f" of {config['title']}"
        else:
            where = ""
        yield (
            f"a strict {node['type']}{where} behind a validator of the author's takes no JSON: "
            "declare Field(strict=False) there"
        )
    if node["type"] == "default" and "default" in node and validates_default(node, config):
        validator = compile_validator(with_definitions(node["schema"], definitions), config)
        try:
            validator.validate_python(node["default"])
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            kind = type(node["default"]).__name__
            yield (
                f"a default of type {kind} is refused by the field itself ({reason}): a call "
                "must give the value"
            )
        except Exception:  # noqa: S110 - the author's code may need what a call has
            pass
