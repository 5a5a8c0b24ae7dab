"""Converts pydantic's errors to faults: one list to coerce, one list for feedback."""

import itertools
import opcode
from collections.abc import Iterable, Sequence
from typing import Any, cast

from pydantic_core import ErrorDetails, PydanticKnownError, ValidationError

from toolshape._records.calls import new_record
from toolshape._schema.places import Location
from toolshape._schema.values import as_json, is_equal
from toolshape._validation.apply_coercions import TooMuchWrongError, are_alike, has_step
from toolshape._validation.coercion import Expected, ExpectedAt
from toolshape._validation.faults import Fault
from toolshape._validation.feedback import faults_of_meant_branch
from toolshape._validation.violations import (
    BY_AUTHOR,
    OF_FIELDS,
    OF_PYDANTIC,
    OF_TAGS,
    REJECTED,
    Violation,
    of_pydantic,
)

KEY = "[key]"
"""The step in a pydantic location that marks an error about a key, not
about the value under the key.
"""
_MOST_ERRORS = 10_000  # including the errors from all union branches
_MOST_STEPS = 500_000  # in the locations of all errors together
_DEEPEST_TOLD = 8  # nested unions; deeper faults are reported for the union around them


def faults_of(errors: Iterable[ErrorDetails], value: Any, expected: ExpectedAt) -> list[Fault]:
    """Return the faults to coerce; all errors inside a union become one fault of the union."""
    other_errors, unions = _split_by_union(errors, expected)
    faults = [_place_at_fault(error, rule, place) for error, rule, place in other_errors]
    if unions:
        return faults + [_union_fault(place, union_errors, value) for place, union_errors in unions]
    return faults


def explained_faults(
    errors: Iterable[ErrorDetails], value: Any, expected: ExpectedAt, depth: int = 0
) -> list[Fault]:
    """Return the faults to report to the language model: for a union, the faults of the
    branch that was probably meant.

    A user validator may replace the value. It may also validate with another pydantic model, and
    pydantic then adds the errors from this other model to the list. The feedback shows only values
    that the language model wrote. For an error about any other value, the feedback says only that
    the value is rejected.
    """
    other_errors, unions = _split_by_union(errors, expected)
    is_same_at: dict[Location, bool] = {}
    faults = [_fault(error, rule, place, value, is_same_at) for error, rule, place in other_errors]
    for error, _, place in other_errors:
        faults += _unknown_fields(error, place, value)
    for place, union_errors in unions:
        faults += (
            [_union_fault(place, union_errors, value)]
            if depth == _DEEPEST_TOLD
            else _union_faults(place, union_errors, value, depth)
        )
    return faults


def _split_by_union(
    errors: Iterable[ErrorDetails], expected: ExpectedAt
) -> tuple[
    list[tuple[ErrorDetails, str, Expected | None]], list[tuple[Expected, list[ErrorDetails]]]
]:
    """Split errors into the errors outside unions and the errors in each union.

    For each error outside a union, also return the violated rule and what the schema expects. If a
    validator around a union failed, its error is outside the union.
    """
    other_errors: list[tuple[ErrorDetails, str, Expected | None]] = []
    unions: dict[Location, tuple[Expected, list[ErrorDetails]]] = {}
    for error in errors:
        at, rule = error["loc"], OF_FIELDS.get(error["type"], error["type"])
        if rule in ("missing", "unknown"):
            parent = at[:-1]
        else:
            parent = at
        place = expected(parent)
        # The error is in a union.
        if place is not None and place.branches and place.steps < len(at):
            unions.setdefault(place.location, (place, []))[1].append(error)
        else:
            other_errors.append((error, rule, place))
    return other_errors, list(unions.values())


def bounded_errors(error: ValidationError) -> list[ErrorDetails]:
    """Return all of pydantic's errors about a value.

    Raises:
        TooMuchWrongError: There are too many errors to examine.
    """
    if error.error_count() > _MOST_ERRORS:
        raise TooMuchWrongError
    errors = error.errors(include_url=False)
    if sum(len(detail["loc"]) for detail in errors) > _MOST_STEPS:
        raise TooMuchWrongError
    return errors


def _place_at_fault(error: ErrorDetails, rule: str, place: Expected | None) -> Fault:
    at, input_value = error["loc"], error["input"]
    if place is not None and place.tags and error["type"] in OF_TAGS:
        tag = place.tag_in(input_value)
        is_there = isinstance(input_value, dict) and tag in input_value
        if is_there:
            return Fault(at, at, input_value[tag], "literal_error")
        return Fault(at, at, None, "missing")
    return new_record(Fault, (at, at, input_value, rule, "", "", None, None))


def _fault(
    error: ErrorDetails,
    rule: str,
    place: Expected | None,
    value: Any,
    is_same_at: dict[Location, bool],
) -> Fault:
    # An error may be about a value that the model did not write: the author's code made it, or
    # pydantic parsed it. Then nothing of the value is told, but for a limit or choices, which hold
    # for the text that the model wrote, too.
    at = error["loc"]
    location, found_value = _in_value(at, value)
    violation = of_pydantic(error, found_value) if _is_by_pydantic(error) else None
    if not _is_about_found(error, rule, place, location, found_value, is_same_at):
        is_told = violation is not None and _is_made_of(found_value, error["input"], violation)
        if not is_told:
            return Fault(at, location, None, "refused", _REJECTED)
    if rule == "missing":
        return Fault(at, (*location, at[-1]), None, rule)
    if KEY in at:
        message = _message(error, rule) if rule in BY_AUTHOR else _NO_KEY
        return Fault(at, location, found_value, rule, message)
    if error["type"] in OF_TAGS and place is not None and place.tags:
        tag = str(place.tag_in(found_value))
        is_there, tag_location = (
            isinstance(found_value, dict) and tag in found_value,
            (*location, tag),
        )
        if place.has_optional_tag and not is_there:
            message = (
                f"{tag} is needed here: without it, more than one form of the object fits, or none"
            )
            return Fault(at, location, found_value, "union_tag_not_found", message)
        return (
            Fault(at, tag_location, found_value[tag], "literal_error")
            if is_there
            else Fault(at, tag_location, None, "missing")
        )
    return Fault(
        at, location, found_value, rule, _message(error, rule), error["msg"], violation=violation
    )


def _is_made_of(found: Any, seen: Any, violation: Violation) -> bool:
    """Return whether an error about another value also says what is wrong with
    the value that the model wrote.

    Either pydantic itself parsed the text to an object, such as a duration, and the object breaks a
    limit, or the author's code changed a text before it was compared with choices.
    """
    is_parsed = bool(violation.limit) and not isinstance(seen, _JSON_TYPES)
    is_changed_text = bool(violation.choices) and type(seen) is str
    return isinstance(found, (str, int, float)) and (is_parsed or is_changed_text)


_JSON_TYPES = (str, int, float, list, dict, type(None))


def _unknown_fields(error: ErrorDetails, place: Expected | None, value: Any) -> list[Fault]:
    """If a union's optional tag is omitted, return a fault for each field
    that no branch of the union has.
    """
    if error["type"] != "union_tag_not_found" or place is None or not place.has_optional_tag:
        return []
    location, found_value = _in_value(error["loc"], value)
    known_names = {*place.fields(), *place.tags}
    if isinstance(found_value, dict):
        unknown_names = [name for name in found_value if name not in known_names]
    else:
        unknown_names = []
    return [
        Fault((*error["loc"], name), (*location, name), None, "unknown") for name in unknown_names
    ]


_REJECTED = "the value is rejected"
_NO_KEY = "this key is not allowed here"


def _is_about_found(
    error: ErrorDetails,
    rule: str,
    place: Expected | None,
    location: Location,
    found: Any,
    is_same_at: dict[Location, bool],
) -> bool:
    """Return whether an error is about ``found``: the value that the language
    model wrote at the error's place.
    """
    # A before validator may replace a value, and pydantic then reports errors about something that
    # the model never wrote, at a place that may not exist. Such an error must not be shown as the
    # model's. The value decides; for an unknown field also its name; for a missing field, whose
    # value is the object around it, the name alone (a tuple has positions, and no names). Comparing
    # large values is remembered by place, because one object may have hundreds of errors.
    seen_value, last = error["input"], error["loc"][-1] if error["loc"] else ""
    if rule == "missing":
        names = () if place is None else (*place.fields(), *place.tags)
        is_known = last in names or (place is not None and "array" in place.kinds)
        return is_known and isinstance(found, list if isinstance(last, int) else dict)
    if KEY in error["loc"]:
        return bool(location) and seen_value == location[-1]
    if rule == "unknown" and (not location or location[-1] != last):
        return False
    if not isinstance(found, (dict, list)):
        return are_alike(found, seen_value)
    if location not in is_same_at:
        is_same_at[location] = is_same(found, seen_value)
    return is_same_at[location]


def is_same(found: Any, seen: Any) -> bool:
    """Return whether a JSON value equals the value that a validator saw."""
    return is_equal(found, seen, are_alike)


def _union_fault(place: Expected, errors: Sequence[ErrorDetails], value: Any) -> Fault:
    for step in place.location:
        value = value[step]
    return Fault(errors[0]["loc"][: place.steps], place.location, value, "union")


def _union_faults(
    place: Expected, errors: Sequence[ErrorDetails], value: Any, depth: int
) -> list[Fault]:
    union_fault = _union_fault(place, errors, value)
    branches: list[list[Fault]] = []
    groups = [
        list(group)
        for _, group in itertools.groupby(errors, lambda error: error["loc"][place.steps])
    ]
    # Every branch has errors, and the location of each error names its branch.
    if len(groups) == len(place.branches):
        for branch, group in zip(place.branches, groups, strict=True):
            branch_errors = [
                cast("ErrorDetails", {**error, "loc": error["loc"][place.steps + 1 :]})
                for error in group
            ]
            faults = explained_faults(branch_errors, union_fault.found, branch.expected, depth + 1)
            branches.append(
                [fault._replace(location=(*place.location, *fault.location)) for fault in faults]
            )
    faults_meant = faults_of_meant_branch(branches, place.location)
    if faults_meant is not None:
        return list(faults_meant)
    faults_inside = [fault for faults in branches for fault in faults]
    if faults_inside and all(fault.rule == "unknown" for fault in faults_inside):
        listed = ", ".join(sorted({str(fault.location[-1]) for fault in faults_inside}))
        return [union_fault._replace(message=f"these fields do not go together: {listed}")]
    return [union_fault]


def _in_value(location: Location, value: Any) -> tuple[Location, Any]:
    """Remove the names of branches and wrappers from a pydantic location; return
    the rest, and the value there.

    The language model never saw these names. The location may continue inside a string that
    contains JSON.
    """
    steps: list[int | str] = []
    current: Any = value
    for step in location:
        if isinstance(current, str) and current.lstrip()[:1] in ("{", "["):
            parsed_text: Any = as_json(current)
            current = parsed_text if has_step(parsed_text, step) else current
        if has_step(current, step):
            current = cast("Any", current)[step]
            steps.append(step)
    return tuple(steps), current


def _message(error: ErrorDetails, rule: str) -> str:
    """Return the message to report for an error, or ``""`` if the schema
    can describe what is expected.

    The message is the author's own, or pydantic's if no JSON Schema keyword expresses the rule.
    """
    if rule in ("missing", "unknown", "inexact"):
        return ""
    if error["type"] in REJECTED:
        return _REJECTED
    if (error["type"] in OF_PYDANTIC or error["type"] in OF_TAGS) and _is_by_pydantic(error):
        return ""
    raised_error = error.get("ctx", {}).get("error")
    if isinstance(raised_error, Exception) and not _is_by_author(raised_error):
        if _is_of_address(raised_error):
            return ""
        return _REJECTED
    return error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _is_by_pydantic(error: ErrorDetails) -> bool:
    """Return whether pydantic raised this error; a user validator may
    also raise pydantic's error types.
    """
    kind = error["type"]
    try:
        known_error = PydanticKnownError(cast("Any", kind), error.get("ctx"))
        # For JSON input, pydantic words these errors differently.
        return known_error.message() == error["msg"] or kind.endswith(
            ("_type", "_required", "_parsing")
        )
    except (KeyError, TypeError, ValueError):
        return False


def _is_of_address(error: Exception) -> bool:
    """Return whether ``ipaddress`` refused a text: the schema says which address is expected."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "ipaddress"


def _is_by_author(error: Exception) -> bool:
    """Return whether a ``raise`` or ``assert`` in the validator's own module raised this error.

    If the error comes from a deeper module, or from C code (``int("x")``), nobody wrote its message
    for a caller.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    module = trace.tb_frame.f_globals.get("__name__")
    while trace.tb_next is not None:
        trace = trace.tb_next
    is_raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    return is_raised and bool(trace.tb_frame.f_globals.get("__name__") == module)
