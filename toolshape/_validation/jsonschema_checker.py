"""Validates arguments against a JSON Schema, for tools from definitions. Needs jsonschema."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from toolshape._records.calls import Finding, JsonSchema
from toolshape._records.errors import CallError, Problem
from toolshape._schema.backtracking import DEEPEST, is_too_deep, may_backtrack, unions_recur
from toolshape._schema.lens import Change, Place
from toolshape._schema.places import Location, child_of
from toolshape._schema.references import mentions, resolver
from toolshape._schema.values import is_finite, parser_input, scalars
from toolshape._schema.walk import everywhere, nodes_of
from toolshape._validation.apply_coercions import Checker, InvalidError, TooMuchWrongError
from toolshape._validation.coercion import Expected
from toolshape._validation.faults import Fault, path_of
from toolshape._validation.feedback import faults_of_meant_branch
from toolshape._validation.json_text import has_every_key, keys_in, repeats_key
from toolshape._validation.jsonschema_keywords import (
    Draft202012Validator,
    StandardValidator,
    Validator,
    additional_keys,
    checking,
)
from toolshape._validation.pattern_search import LONGEST_KEY, Searches, what_is_unchecked
from toolshape._validation.plain_schemas import is_plain_schema
from toolshape._validation.settings import (
    FindUnchecked,
    Validate,
    Validated,
    ValidationSettings,
    to_canonical,
)
from toolshape._validation.slow_path import validate_with_coercions
from toolshape._validation.violations import of_json_schema

_MOST_ERRORS = 2_000
_SLOWNESS = 40


def schema_problems(schema: JsonSchema) -> list[Problem]:
    """Return a problem for each violation of the metaschema of draft 2020-12."""
    if is_plain_schema(schema):
        return []
    errors = Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)
    return [
        Problem(
            path="/".join(map(str, error.absolute_path)),
            rule="not_a_schema",
            message=error.message[:200],
        )
        for error in errors
    ]


def unchecked_findings(schema: JsonSchema, searches: Searches) -> tuple[Finding, ...]:
    """Return a finding for each constraint that is sent but not checked,
    or checked only in short texts.
    """
    findings: list[Finding] = []
    for node, at in nodes_of(schema, constraints=True) if searches.are_any else ():
        for pattern in _all_patterns(node):
            if pattern in _patterns(node):
                longest = node.get("maxLength")
            else:
                longest = LONGEST_KEY
            if message := what_is_unchecked(pattern, searches.of(pattern), longest):
                findings.append(Finding(path=at.path, rule="unchecked", message=message))
        if "unevaluatedProperties" in node and not searches.sees_keys:
            message = (
                "unevaluatedProperties is sent, but not checked: matching a pattern of keys may "
                "take too long"
            )
            findings.append(Finding(path=at.path, rule="unchecked", message=message))
    return tuple(findings)


def _all_patterns(node: JsonSchema) -> list[str]:
    return [*_patterns(node), *node.get("patternProperties", ())]


def _patterns(node: JsonSchema) -> list[str]:
    if "pattern" in node:
        return [node["pattern"]]
    return []


def _drop_unsure(searches: Searches, node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Drop a ``not`` or ``if`` with an unchecked pattern: to ignore only the
    pattern would invert the meaning.
    """
    unchecked_keywords = [
        key
        for key in ("not", "if")
        if isinstance(node.get(key), dict) and _has_unchecked(node[key], searches)
    ]
    dropped_keywords = {
        *unchecked_keywords,
        *(("then", "else") if "if" in unchecked_keywords else ()),
    }
    if dropped_keywords:
        return Change(
            node={key: value for key, value in node.items() if key not in dropped_keywords}
        )
    return None


def _has_unchecked(schema: JsonSchema, searches: Searches) -> bool:
    nodes = nodes_of(schema, constraints=True)
    return not all(
        searches.of(pattern).is_possible for node, _ in nodes for pattern in _all_patterns(node)
    )


def _make_node_checkable(searches: Searches, node: JsonSchema, at: Place) -> Change | None:  # noqa: ARG001 - a rule
    """Drop patterns that no text is matched against; a field that such a
    pattern may match is not unknown.
    """
    patterns = node.get("patternProperties", {})
    if searches.sees_keys:
        dropped_keywords = set[str]()
    else:
        dropped_keywords = {"unevaluatedProperties"} & node.keys()
    if not all(searches.of(pattern).is_possible for pattern in _patterns(node)):
        dropped_keywords.add("pattern")
    checked_patterns = {
        pattern: inner for pattern, inner in patterns.items() if searches.of(pattern).is_possible
    }
    if len(checked_patterns) < len(patterns):
        dropped_keywords |= {"additionalProperties", "patternProperties"}
    if not dropped_keywords:
        return None
    checkable_node = {key: value for key, value in node.items() if key not in dropped_keywords}
    if "patternProperties" in dropped_keywords:
        checkable_node["patternProperties"] = checked_patterns
    return Change(node=checkable_node)


def compile_validation(
    schema: JsonSchema,
    known: frozenset[str] | None,
    never: frozenset[str],
    switched: Mapping[str, Mapping[str, bool]],
    settings: ValidationSettings,
    searches: Searches,
) -> Validate:
    """Compile the function that validates a call's arguments;
    ``compile_model_validation`` does so for pydantic models.

    Args:
        schema: The canonical schema of the arguments.
        known: The names that the function accepts, or ``None`` if it accepts any name.
        never: The names that the LLM must not set.
        switched: The coercion rules that the function's parameters switch on or off, by parameter
            name.
        settings: The settings for the validation.
        searches: The compiled patterns of the tool.
    """
    checkable_schema = make_checkable(schema, searches)
    validator = Validator(checkable_schema)
    places = Places(schema, validator, switched, searches)
    standard = _Standard(
        StandardValidator(checkable_schema),
        mentions(checkable_schema, *_INVERTING),
    )
    check = functools.partial(_check, validator, standard, searches, known, never)
    checker = Checker(check, places, of_node=places.of_node)
    back, max_depth, has_recursive_unions = (
        settings.back,
        DEEPEST if may_backtrack(schema) else None,
        unions_recur(schema),
    )

    def validate(arguments: Any) -> Validated:
        arguments = parser_input(arguments)
        try:
            if back is None:
                canonical = arguments
            else:
                canonical = to_canonical(arguments, back)
            is_text = isinstance(canonical, (str, bytes))
            text = canonical if is_text else to_json(canonical)
            value = from_json(text)
            if has_recursive_unions and is_too_deep(text, lambda: value):
                problem = Problem(
                    path="", rule="too_deep", message="nested too deeply for their length"
                )
                raise CallError("malformed_arguments", tool=settings.name, problems=[problem])
            if (
                max_depth is None
                and isinstance(value, dict)
                and not (is_text and _repeats_key(canonical, value))
            ):
                return checker.check(value), ()
        except (InvalidError, TooMuchWrongError, ValueError):
            pass
        return validate_with_coercions(checker, schema, settings, arguments, deepest=max_depth)

    return validate


def make_checkable(schema: JsonSchema, searches: Searches) -> JsonSchema:
    """Return the schema without the parts that cannot be checked in bounded time."""
    if not searches.are_any:
        return schema
    drop_unsure = functools.partial(_drop_unsure, searches)
    make_node_checkable = functools.partial(_make_node_checkable, searches)
    reliable_schema = everywhere(drop_unsure, constraints=True)(schema).schema
    return everywhere(make_node_checkable, constraints=True)(reliable_schema).schema


def _repeats_key(text: str | bytes, value: Any) -> bool:
    return not has_every_key(text, keys_in(value)) and repeats_key(text)


_INVERTING = (
    "not",
    "if",
    "oneOf",
    "contains",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
)
"""Keywords that can make a value valid because it violates a subschema, or invalid
because it matches the subschema.
"""


class _Standard(NamedTuple):
    """The validator that accepts ``3.0`` as an integer.

    ``may_refuse`` is true if this validator may reject values that the strict validator admits.
    """

    validator: Any
    may_refuse: bool


def _check(
    validator: Any,
    standard: _Standard | None,
    searches: Searches,
    known: frozenset[str] | None,
    never: frozenset[str],
    value: Any,
) -> Any:
    """Validate a value, and return it.

    ``validator`` is strict: it rejects ``3.0`` as an integer, so toolshape coerces the number and
    records the coercion. But only the standard validator decides whether a value with such numbers
    is valid at all. Inside ``not``, a strict rejection would make a value valid. A strict
    ``contains`` would reject the whole array, and not say which item to coerce.

    Raises:
        InvalidError: The value is invalid, or only the standard validator accepts it, and the
            strict one names a number to coerce.
        TooMuchWrongError: There are too many errors.
    """
    # ``known`` and ``never`` are those of ``compile_validation``.
    errors, has_only_integral_floats = _errors(validator, value, searches), False
    if standard is not None and (errors or standard.may_refuse) and _holds_integral_float(value):
        standard_errors = _errors(standard.validator, value, searches)
        if standard_errors:
            errors = errors or standard_errors
        else:  # it accepts the value: only the numbers themselves are left to coerce
            errors = [
                leaf
                for error in errors
                for leaf in _leaves(error)
                if _is_integral_float(leaf.instance)
            ]
            has_only_integral_floats = True
    with checking(searches):
        faults = [fault for error in errors for fault in _faults(error)]
    own_faults: list[Fault] = []
    for key, item in value.items() if isinstance(value, dict) else ():
        if key in never:
            own_faults.append(Fault((key,), (key,), None, "reserved", "unknown field"))
        elif known is not None and key not in known:
            own_faults.append(Fault((key,), (key,), item, "unknown"))
    if not is_finite(value):
        own_faults += _non_finite_faults(value, ())
    if faults or own_faults:
        raise InvalidError(
            [*faults, *own_faults],
            lambda: [*_explained_faults_of(errors, searches), *own_faults],
            has_only_integral_floats=has_only_integral_floats and not own_faults,
        )
    return value


def _errors(validator: Any, value: Any, searches: Searches) -> list[Any]:
    """Return the errors that a validator finds in a value.

    A text that takes a pattern too long may match or not. Under ``not`` and its kin, a match is an
    error. So a value is invalid only if it is so either way.

    Raises:
        TooMuchWrongError: There are too many errors.
    """
    errors: list[Any] = []
    for assumed in (True, False):
        with checking(searches, assumed=assumed) as state:
            errors = list(itertools.islice(validator.iter_errors(value), _MOST_ERRORS + 1))
        if not errors or not state.has_unchecked:
            break
    if len(errors) > _MOST_ERRORS:
        raise TooMuchWrongError
    return errors


def compile_find_unchecked(schema: JsonSchema, searches: Searches) -> FindUnchecked:
    """Compile a function that returns the paths and the patterns that
    a check of a value leaves out.

    Args:
        schema: The canonical schema of the value.
        searches: The compiled patterns of the tool.
    """
    validator = Validator(make_checkable(schema, searches))

    def find(value: Any) -> list[tuple[str, str]]:
        with checking(searches, reports=True) as state:
            errors = [leaf for error in validator.iter_errors(value) for leaf in _leaves(error)]
        unchecked = [error for error in errors if error.validator == "pattern_not_checked"]
        found = [(path_of(tuple(error.absolute_path)), error.message) for error in unchecked]
        return found or ([("", "a pattern of keys")] if state.has_unchecked else [])

    return find


def _leaves(error: Any) -> Iterator[Any]:
    """Yield the innermost errors inside an error; for a union, these
    are the errors of its branches.
    """
    if error.context:
        for inner in error.context:
            yield from _leaves(inner)
    else:
        yield error


def _is_integral_float(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def _holds_integral_float(value: Any) -> bool:
    return any(map(_is_integral_float, scalars(value)))


def _non_finite_faults(value: Any, location: Location) -> Iterator[Fault]:
    if isinstance(value, (dict, list)):
        if isinstance(value, dict):
            items: Any = value.items()
        else:
            items = enumerate(value)
        for step, item in items:
            yield from _non_finite_faults(item, (*location, step))
    elif not is_finite(value):
        yield Fault(location, location, value, "finite_number", "expected a finite number")


def _explained_faults_of(errors: Iterable[Any], searches: Searches) -> list[Fault]:
    with checking(searches):
        return [fault for error in errors for fault in _explained_faults(error)]


def _explained_faults(error: Any) -> Iterator[Fault]:
    """Yield the faults to report to the LLM: for a union, the faults of the
    branch that was most likely meant.
    """
    location = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and error.context:
        branches: dict[int, list[Fault]] = {}
        for inner in error.context:
            branches.setdefault(inner.relative_schema_path[0], []).extend(_explained_faults(inner))
        explained_faults = faults_of_meant_branch(branches.values(), location)
        yield from _faults(error) if explained_faults is None else explained_faults
    else:
        yield from _faults(error)


def _faults(error: Any) -> Iterator[Fault]:
    """Yield the faults of an error; the error of a union becomes one fault of the whole union."""
    location = tuple(error.absolute_path)
    keyword, keyword_value = str(error.validator), error.validator_value
    if keyword == "required":
        for name in keyword_value:
            if name not in error.instance:
                yield Fault((*location, name), (*location, name), None, "missing")
    elif keyword == "dependentRequired":
        for name in sorted(
            {name for key in keyword_value if key in error.instance for name in keyword_value[key]}
        ):
            if name not in error.instance:
                yield Fault((*location, name), (*location, name), None, "missing")
    elif keyword == "additionalProperties" and keyword_value is False:
        for key in additional_keys(error.schema, error.instance):
            yield Fault((*location, key), (*location, key), error.instance[key], "unknown")
    else:
        if keyword == "None" or (keyword, keyword_value) == ("not", {}):  # the schema is ``false``
            yield Fault(location, location, error.instance, "false", "no value is allowed here")
            return
        violation = of_json_schema(keyword, keyword_value, error.schema, error.context)
        yield Fault(
            location, location, error.instance, keyword, node=error.schema, violation=violation
        )


# --- expected values ----------------------------------------------------------------------------

_KINDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"string"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"number"}),
    "boolean": frozenset({"boolean"}),
    "array": frozenset({"array", "list"}),
    "object": frozenset({"object"}),
    "null": frozenset(),
}


class Places:
    """Looks up what a schema expects at a place, for the coercion rules.

    Args:
        schema: The schema.
        validator: The validator of the schema; the branches of unions get validators derived from
            it.
        switched: The coercion rules that each parameter switches on or off, by the parameter's
            name.
        searches: The compiled patterns of the tool.
    """

    def __init__(
        self,
        schema: JsonSchema,
        validator: Any,
        switched: Mapping[str, Mapping[str, bool]],
        searches: Searches,
    ) -> None:
        self.schema = schema
        self.searches = searches
        self.validator = validator
        self.switched = switched
        self.resolve = resolver(schema)
        self.compiled: dict[int, tuple[Checker, ...]] = {}

    def __call__(self, location: Location) -> Expected | None:
        """Return what the schema expects at a place, or ``None`` if
        the schema does not determine it.
        """
        node, is_optional = self.resolve(self.schema), False
        for index, step in enumerate(location):
            node, is_nullable = _without_null(node, self.resolve)
            if isinstance(node, dict) and _branches(node):
                return self.asked(node, location[:index], is_optional, is_nullable)
            if not isinstance(node, dict):
                return None
            is_optional = step in node.get("properties", ()) and step not in node.get(
                "required", ()
            )
            node = self.resolve(child_of(node, step))
        node, is_nullable = _without_null(node, self.resolve)
        if isinstance(node, dict):
            return self.asked(node, location, is_optional, is_nullable)
        return None

    def of_node(self, node: Any, location: Location) -> Expected:
        """Return what a subschema expects; the subschema may be inside ``allOf``,
        ``then`` or ``patternProperties``.
        """
        inner, is_nullable = _without_null(self.resolve(node), self.resolve)
        return self.asked(inner if isinstance(inner, dict) else {}, location, False, is_nullable)

    def asked(
        self, node: JsonSchema, location: Location, is_optional: bool, is_nullable: bool
    ) -> Expected:
        """Return what a node expects at its place."""
        expectation = _expectation_of(node)
        branches = self.branches(node, expectation)
        if branches:
            kinds = frozenset({"union"})
        else:
            kinds = expectation.kinds
        return Expected(
            location=location,
            kinds=kinds,
            choices=expectation.choices,
            nullable=is_nullable or expectation.nullable,
            has_default=is_optional,
            switched=self.switched.get(str(location[0]), {}) if location else {},
            fields=lambda: list(node.get("properties", ())),
            branches=branches,
            steps=len(location),
            default=lambda: node.get("default"),
        )

    def branches(self, node: JsonSchema, found: "_NodeExpectation") -> tuple[Checker, ...]:
        """Return checkers for the branches of a union, except for a null branch."""
        branch_schemas = [
            branch for branch in _branches(node) if not _is_null(branch, self.resolve)
        ] or found.choices_of_types
        if not branch_schemas:
            return ()
        # The ``id()`` of an object in ``self.schema``, which stays alive.
        key = id(node["type"] if found.choices_of_types else branch_schemas[0])
        if key not in self.compiled:
            self.compiled[key] = tuple(map(self.branch, branch_schemas))
        return self.compiled[key]

    def branch(self, node: JsonSchema) -> Checker:
        """Return the checker for one branch."""
        definitions = self.validator.schema.get("$defs", {})
        branch_validator = self.validator.evolve(
            schema={**make_checkable(node, self.searches), "$defs": definitions}
        )
        branch_schema = {**node, "$defs": self.schema.get("$defs", {})}
        places = Places(branch_schema, self.validator, {}, self.searches)
        check = functools.partial(_check, branch_validator, None, self.searches, None, frozenset())
        return Checker(check, places, slowness=_SLOWNESS, of_node=places.of_node)


class _NodeExpectation(NamedTuple):
    """What a node expects, according to its ``type``, ``enum`` and ``const``."""

    kinds: frozenset[str]
    choices: tuple[Any, ...]
    nullable: bool
    choices_of_types: list[JsonSchema]


def _expectation_of(node: JsonSchema) -> _NodeExpectation:
    types = node.get("type", [])
    names = [types] if isinstance(types, str) else list(types)
    non_null_types = [name for name in names if name != "null"]
    if "enum" in node or "const" in node:
        options = node.get("enum", [node.get("const")])
        choices = tuple(option for option in options if option is not None)
        return _NodeExpectation(
            frozenset({"choice"}), choices, "null" in names or None in options, []
        )
    if len(non_null_types) > 1:
        single_type_nodes = [{**node, "type": name} for name in non_null_types]
    else:
        single_type_nodes = []
    if len(non_null_types) == 1:
        kinds = _KINDS.get(non_null_types[0], frozenset())
    else:
        kinds = frozenset[str]()
    return _NodeExpectation(
        kinds - {"list"} if "prefixItems" in node else kinds, (), "null" in names, single_type_nodes
    )


def _branches(node: JsonSchema) -> list[Any]:
    branches: list[Any] = node.get("anyOf") or node.get("oneOf") or []
    return branches


def _without_null(node: Any, resolve: Any) -> tuple[Any, bool]:
    """Return a node without its null branch, and whether it had a null branch.

    If only one other branch remains, this branch replaces the node.
    """
    is_nullable = False
    while isinstance(node, dict) and (branches := _branches(node)):
        non_null_branches = [branch for branch in branches if not _is_null(branch, resolve)]
        is_nullable = is_nullable or len(non_null_branches) < len(branches)
        if len(non_null_branches) != 1:
            return node, is_nullable
        node = resolve(non_null_branches[0])
    return node, is_nullable


def _is_null(node: Any, resolve: Any) -> bool:
    return isinstance(node, dict) and resolve(node).get("type") == "null"
