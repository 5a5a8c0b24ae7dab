"""Says what a validator's error means: the kind that was expected, the limit that broke.

The schema says what is expected at a place. But a validator knows why it refused this value, and
what it knows is in the error: the limit with its number, or the kind of value that its branch of a
union wants.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails, to_jsonable_python

from toolshape._validation.phrases import FORMAT_PHRASES, expected_of, shortened


class Violation(NamedTuple):
    """What a validator's error means.

    ``kind`` is the kind of value that was expected: a JSON type, or words for a form. ``limit`` are
    words for the limit that the value breaks; then the value has the right kind. ``choices`` are
    words for the choices.
    """

    kind: str = ""
    limit: str = ""
    choices: str = ""


class Reading(NamedTuple):
    """How an error type of pydantic is read; ``limit`` and ``choices`` are
    filled with the error's context.
    """

    kind: str = ""
    limit: str = ""
    choices: str = ""


def _kinds(kind: str, *types: str) -> dict[str, Reading]:
    return dict.fromkeys(types, Reading(kind=kind))


OF_PYDANTIC: Mapping[str, Reading] = {
    "greater_than": Reading(limit="> {gt}"),
    "greater_than_equal": Reading(limit=">= {ge}"),
    "less_than": Reading(limit="< {lt}"),
    "less_than_equal": Reading(limit="<= {le}"),
    "multiple_of": Reading(limit="a multiple of {multiple_of}"),
    "too_short": Reading(limit="of at least {min_length} {things}"),
    "too_long": Reading(limit="of at most {max_length} {things}"),
    "string_too_short": Reading(limit="of at least {min_length} characters"),
    "string_too_long": Reading(limit="of at most {max_length} characters"),
    "string_pattern_mismatch": Reading(limit="that matches {pattern}"),
    "string_not_ascii": Reading(limit="of ASCII characters only"),
    "bytes_too_short": Reading(limit="of at least {min_length} bytes"),
    "bytes_too_long": Reading(limit="of at most {max_length} bytes"),
    "bytes_invalid_encoding": Reading(limit="in valid {encoding}"),
    "int_parsing_size": Reading(limit="of fewer digits"),
    "set_item_not_hashable": Reading(limit="that is no object and no array"),
    "date_past": Reading(limit="in the past"),
    "date_future": Reading(limit="in the future"),
    "datetime_past": Reading(limit="in the past"),
    "datetime_future": Reading(limit="in the future"),
    "timezone_naive": Reading(limit="without a time zone"),
    "timezone_aware": Reading(limit="with a time zone"),
    "timezone_offset": Reading(limit="{tz_expected} seconds ahead of UTC"),
    "url_scheme": Reading(limit="that begins with {expected_schemes}"),
    "url_too_long": Reading(limit="of at most {max_length} characters"),
    "uuid_version": Reading(limit="of version {expected_version}"),
    "decimal_max_digits": Reading(limit="of at most {max_digits} digits"),
    "decimal_max_places": Reading(limit="with at most {decimal_places} decimal places"),
    "decimal_whole_digits": Reading(limit="with at most {whole_digits} digits before the point"),
    "date_from_datetime_inexact": Reading(limit="without a time of day"),
    "literal_error": Reading(choices="{expected}"),
    "enum": Reading(choices="{expected}"),
    **_kinds("null", "none_required"),
    **_kinds("boolean", "bool_type", "bool_parsing"),
    **_kinds("integer", "int_type", "int_parsing", "int_from_float"),
    **_kinds("number", "float_type", "float_parsing", "finite_number"),
    **_kinds("string", "string_type", "string_unicode", "bytes_type"),
    **_kinds(
        "array", "list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type",
        "iterable_type", "named_tuple_type"
    ),
    **_kinds(
        "object", "dict_type", "model_type", "dataclass_type", "mapping_type", "counter_type",
        "frozen_dict_type",
        "ordered_dict_type",
    ),
    **_kinds("decimal number", "decimal_type", "decimal_parsing"),
    **_kinds("fraction (1/3, 0.5)", "fraction_type", "fraction_parsing"),
    **_kinds("complex number (1+2j)", "complex_type", "complex_str_parsing"),
    **_kinds(FORMAT_PHRASES["date"], "date_type", "date_parsing", "date_from_datetime_parsing"),
    **_kinds(FORMAT_PHRASES["date-time"], "datetime_type", "datetime_parsing",
    "datetime_from_date_parsing"),
    **_kinds(FORMAT_PHRASES["time"], "time_type", "time_parsing"),
    **_kinds(FORMAT_PHRASES["duration"], "time_delta_type", "time_delta_parsing"),
    **_kinds(FORMAT_PHRASES["uuid"], "uuid_type", "uuid_parsing"),
    **_kinds(FORMAT_PHRASES["uri"], "url_type", "url_parsing", "url_syntax_violation"),
    **_kinds("JSON text", "json_type", "json_invalid"),
}  # fmt: skip
"""The error types of pydantic-core 2.50 that a call can cause, and that
say what is wrong with a value.

An older release has fewer types. The types that are not here are of fields, which have words of
their own, or in one of the next three tables.
"""
OF_FIELDS: Mapping[str, str] = {
    "extra_forbidden": "unknown",
    "unexpected_keyword_argument": "unknown",
    "missing": "missing",
    "missing_argument": "missing",
}
"""pydantic's error types for unknown and missing fields, each with toolshape's name for the rule.
"""
BY_AUTHOR = frozenset({"value_error", "assertion_error"})
"""pydantic's error types for what the author's code raised: its own words are told."""
OF_TAGS = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""pydantic's error types for the tag of a union: the tag and its choices are told."""
FOLLOWING = frozenset({"default_factory_not_called"})
"""pydantic's error types that follow from another error, and are told only if there is no other."""
REJECTED = frozenset(
    {"arguments_type", "missing_keyword_only_argument", "missing_positional_only_argument",
     "unexpected_positional_argument", "multiple_argument_values", "is_instance_of",
     "dataclass_exact_type", "invalid_key",
     "ellipsis_error", "missing_sentinel_error", "recursion_loop", "recursion_depth_exceeded"}
)  # fmt: skip
"""Error types that only a core schema of the author's own can cause: they are about
Python, and no word of them helps.
"""
NEVER: Mapping[str, str] = {
    "no_such_attribute": "it is about the attributes of Python objects",
    "get_attribute_error": "it is about the attributes of Python objects",
    "model_attributes_type": "it is about the attributes of Python objects",
    "needs_python_object": "it is raised by a check of Python objects, where a schema has no form for JSON",
    "frozen_field": "it is raised by an assignment",
    "frozen_instance": "it is raised by an assignment",
    "datetime_object_invalid": "it is about a Python datetime",
    "callable_type": "a callable has no JSON Schema",
    "is_subclass_of": "a class has no JSON Schema",
    "string_sub_type": "it is about subclasses of Python's str (before 2.14)",
    "iteration_error": "JSON has no iterator that could fail",
}
"""The error types that no call can cause, and why."""

_THINGS = ((str, "characters"), (dict, "fields"), (list, "items"))


def of_pydantic(error: ErrorDetails, found: Any) -> Violation | None:
    """Return what an error of pydantic means, or ``None`` if its type says nothing of the value.

    Args:
        error: The error.
        found: The value that the model wrote at the place.
    """
    reading = OF_PYDANTIC.get(error["type"])
    if reading is None:
        return None
    things = next((words for kind, words in _THINGS if isinstance(found, kind)), "items")
    context = {
        **{name: _text(value) for name, value in error.get("ctx", {}).items()},
        "things": things,
    }
    limit = _of_one(reading.limit.format_map(context))
    least = error.get("ctx", {}).get("min_length")
    if (
        error["type"] == "string_too_short"
        and isinstance(found, str)
        and len(found) >= (least or 0)
    ):
        limit += " without the blanks around them"
    return Violation(reading.kind, limit, reading.choices.format_map(context))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return shortened(
        value if isinstance(value, str) else str(to_jsonable_python(value, fallback=str))
    )


def _of_one(limit: str) -> str:
    """Return a phrase in the singular if it counts one thing: ``of at least 1 item``."""
    if " 1 " in f"{limit} " and limit.endswith("s"):
        return limit.removesuffix("s")
    return limit


# --- JSON Schema --------------------------------------------------------------------------------


def _of_bound(sign: str) -> Callable[[Any, Mapping[str, Any]], Violation]:
    return lambda value, _: Violation(limit=f"{sign} {_text(value)}")


def _of_count(words: str, thing: str) -> Callable[[Any, Mapping[str, Any]], Violation]:
    return lambda value, _: Violation(limit=_of_one(f"of {words} {value} {thing}s"))


def _of_items(value: Any, schema: Mapping[str, Any]) -> Violation | None:
    count = len(schema.get("prefixItems", ()))
    if value is False:
        return Violation(limit=_of_one(f"of at most {count} items"))
    return None


def _contains(value: Any, schema: Mapping[str, Any]) -> Violation:
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    if most is None:
        counts = f"at least {least}"
    else:
        counts = f"{least} to {most}"
    items = "item" if most is None and least == 1 else "items"
    return Violation(
        limit=f"with {counts} {items} that {'is' if items == 'item' else 'are'}: "
        f"{_words(value, 'contains')}"
    )


def _words(schema: Any, keyword: str) -> str:
    """Describe what a subschema accepts; the keyword in which it stands is named where
    words fail, as for a reference.
    """
    if isinstance(schema, dict):
        words = expected_of([schema])
    else:
        words = ""
    return words or f"what {keyword} says"


OF_JSON_SCHEMA: Mapping[str, Callable[[Any, Mapping[str, Any]], Violation | None]] = {
    "minimum": _of_bound(">="),
    "exclusiveMinimum": _of_bound(">"),
    "maximum": _of_bound("<="),
    "exclusiveMaximum": _of_bound("<"),
    "multipleOf": lambda value, _: Violation(limit=f"a multiple of {_text(value)}"),
    "minLength": _of_count("at least", "character"),
    "maxLength": _of_count("at most", "character"),
    "pattern": lambda value, _: Violation(limit=f"that matches {shortened(value)}"),
    "minItems": _of_count("at least", "item"),
    "maxItems": _of_count("at most", "item"),
    "minProperties": _of_count("at least", "field"),
    "maxProperties": _of_count("at most", "field"),
    "uniqueItems": lambda *_: Violation(limit="in which no item is there twice"),
    "items": _of_items,
    "unevaluatedItems": lambda *_: Violation(limit="of fewer items"),
    "unevaluatedProperties": lambda *_: Violation(
        limit="without fields that the schema does not name"
    ),
    "contains": _contains,
    "minContains": _contains,
    "maxContains": _contains,
    "propertyNames": lambda value, _: Violation(
        limit=f"that is the name of a field: {_words(value, 'propertyNames')}"
    ),
    "not": lambda value, _: Violation(limit=f"other than {_words(value, 'not')}"),
    "oneOf": lambda value, _: Violation(limit=f"that fits exactly one of the {len(value)} forms"),
    "type": lambda value, _: Violation(kind=expected_of([{"type": value}])),
    "const": lambda value, _: Violation(choices=expected_of([{"const": value}])),
    "enum": lambda value, _: Violation(choices=expected_of([{"enum": value}])),
}
"""What an error of jsonschema means, by its keyword; the functions take the
keyword's value and the schema with it.
"""


def of_json_schema(
    keyword: str, value: Any, schema: Any, context: Sequence[Any]
) -> Violation | None:
    """Return what an error of jsonschema means, or ``None`` if its
    keyword says nothing of the value.

    Args:
        keyword: The keyword that refused the value.
        value: The keyword's value.
        schema: The schema in which the keyword stands.
        context: The errors of the branches, of a union.
    """
    read = OF_JSON_SCHEMA.get(keyword)
    if read is None or not isinstance(schema, Mapping) or (keyword == "oneOf" and context):
        return None
    return read(value, schema)
