"""Checks with generated values whether a provider or a tool keeps the laws of lenses.

Needs the extra ``testing``.
"""

import contextlib
import copy
import dataclasses
import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, cast

from toolshape._answers.answer import ReadAnswerText, compile_answer_reading
from toolshape._answers.export import output_to_wire
from toolshape._answers.output import Output
from toolshape._answers.record import record_of_output
from toolshape._families import get
from toolshape._families.wire.provider import AnyProvider, Provider, Read
from toolshape._families.wire.server import Completion
from toolshape._records.calls import JsonObject, JsonSchema, Strictness, WireCall
from toolshape._records.errors import AnswerError, CallError
from toolshape._schema.lens import Change, Lens, Place, UnsupportedError
from toolshape._schema.references import definition_name, resolver
from toolshape._schema.rewrites import merge_all_of, nullable_as_null
from toolshape._schema.values import UnreadableError, scalars
from toolshape._schema.walk import everywhere
from toolshape._tools.export import WireTool, to_wire
from toolshape._tools.tool import Tool, as_tool, record_of
from toolshape._validation.faults import path_of
from toolshape._validation.settings import Validate, ValidationSettings
from toolshape.testing._mistakes import Outcome, SlipKind, check_slip, slips
from toolshape.testing._strategies import values_for

try:
    from hypothesis import HealthCheck, Phase, given, settings, strategies as st
    from jsonschema import Draft202012Validator, FormatChecker
except ImportError as error:
    raise ImportError(
        "toolshape.testing needs hypothesis and jsonschema: pip install 'toolshape[testing]'"
    ) from error


Law = Literal["sound", "sayable", "forgiving", "obedient", "still", "folding", "true"]

_FORMATS: Mapping[str, st.SearchStrategy[str]] = {
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z"),
    "time": st.times().map(lambda time: time.replace(microsecond=0).isoformat()),
    "duration": st.integers(0, 10**6).map(lambda seconds: f"PT{seconds}S"),
    "uuid": st.uuids(version=4).map(str),
    "email": st.just("a@example.com"),
    "uri": st.just("https://example.com/a"),
    "ipv4": st.just("127.0.0.1"),
    "ipv6": st.just("::1"),
    "hostname": st.just("example.com"),
}
_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=5)
    | st.sampled_from(["5", "null", "[1]", '"a"']),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_DEEPEST = 6
_LONG = 20


class LawBrokenError(AssertionError):
    """A provider or a tool breaks a law.

    The message names the ``law``, the tool, and a ``value`` that breaks it.
    """

    def __init__(self, law: Law, shown: WireTool, said: str, value: Any) -> None:
        self.law = law
        self.value = value
        strict = "strict" if shown.is_strict else "lenient"
        super().__init__(
            f"{law}: {shown.wire_name} ({strict}): {said}\n  value: "
            f"{json.dumps(value, default=str)[:2000]}"
        )


def values(schema: JsonSchema) -> st.SearchStrategy[Any]:
    """Return a strategy for JSON values that are valid for a schema.

    Args:
        schema: A JSON Schema in the form that toolshape writes: each reference points into the
            schema's own ``$defs``.
    """
    validator = Draft202012Validator(in_2020_12(schema))

    def is_valid(value: Any) -> bool:
        return validator.is_valid(value)

    return _values(schema, schema, 0).filter(is_valid)


# ``_values`` builds strategies from the keywords that determine most of a value. ``values`` then
# drops the values that the other keywords reject. Schemas may be recursive, so references are
# deferred. At a depth of ``_DEEPEST`` or more, the strategies omit nested branches, optional
# properties and optional items. So every value is finite.
def _values(node: Any, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one per keyword
    if not isinstance(node, dict):
        return st.nothing() if node is False else _ANYTHING
    if "$ref" in node:
        target = root["$defs"][definition_name(node["$ref"])]
        return st.deferred(lambda: _values({**target, **_drop_keys(node, "$ref")}, root, depth + 1))
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"]) | (st.none() if node.get("nullable") else st.nothing())
    if node.get("allOf") and depth < _DEEPEST:
        # Then use only the other keywords: ``values`` still drops the values that allOf rejects.
        with contextlib.suppress(UnsupportedError):
            merged = merge_all_of(node, Place(path="", keyword="", resolve=resolver(root)))
            return _values(node if merged is None else merged.node, root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            branches = [
                branch for branch in node[keyword] if depth < _DEEPEST or not _is_deep(branch)
            ]
            shared = _drop_keys(node, keyword, "description", "default")
            return st.one_of(
                [
                    _values({**shared, **branch}, root, depth + 1)
                    for branch in branches or node[keyword]
                ]
            )
    kinds = node.get("type")
    if kinds is None:
        return _ANYTHING
    type_names = [name.lower() for name in (kinds if isinstance(kinds, list) else [kinds])]
    strategy = st.one_of([_TYPED[name](node, root, depth) for name in type_names])
    return strategy | st.none() if node.get("nullable") else strategy


def _is_deep(node: Any) -> bool:
    return isinstance(node, dict) and (node.get("type") in ("array", "object") or "$ref" in node)


def _drop_keys(node: JsonSchema, *keys: str) -> JsonSchema:
    return {key: value for key, value in node.items() if key not in keys}


def _objects(node: JsonSchema, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:
    properties = node.get("properties", {})
    required = set(node.get("required", ()))
    unnamed = {
        name: node.get("additionalProperties", True)
        for name in sorted(required - properties.keys())
    }
    fields = {**unnamed, **properties}
    required_fields = {
        name: _values(inner, root, depth + 1) for name, inner in fields.items() if name in required
    }
    optional = {
        name: _values(inner, root, depth + 1)
        for name, inner in properties.items()
        if name not in required
    }
    named_members = st.fixed_dictionaries(
        required_fields, optional={} if depth > _DEEPEST else optional
    )
    additional = node.get("additionalProperties", not properties)
    if additional is False or depth > _DEEPEST:
        return named_members
    keys = _values(
        {"type": "string", **_resolve(node.get("propertyNames", {}), root)}, root, depth + 1
    )
    extras = st.dictionaries(keys, _values(additional, root, depth + 1), max_size=2)
    return st.builds(
        lambda more, own: {
            **{key: item for key, item in more.items() if key not in properties},
            **own,
        },
        extras,
        named_members,
    )


def _resolve(node: JsonSchema, root: JsonSchema) -> JsonSchema:
    return root["$defs"][definition_name(node["$ref"])] if "$ref" in node else node


def _arrays(node: JsonSchema, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:
    prefix = [_values(inner, root, depth + 1) for inner in node.get("prefixItems", ())]
    least = node.get("minItems", 0)
    if depth < _DEEPEST:
        most = min(node.get("maxItems", least + 3), least + 3)
    else:
        most = least
    if prefix:
        head = st.integers(min(least, len(prefix)), min(most, len(prefix))).flatmap(
            lambda n: st.tuples(*prefix[:n])
        )
        if most <= len(prefix) or node.get("items") is False:
            return head.map(list)
        further_items = st.lists(
            _values(node.get("items", True), root, depth + 1), max_size=most - len(prefix)
        )
        return st.tuples(st.tuples(*prefix), further_items).map(lambda both: [*both[0], *both[1]])
    items = _values(node.get("items", True), root, depth + 1)
    if node.get("uniqueItems"):
        return st.lists(
            items,
            min_size=least,
            max_size=most,
            unique_by=lambda item: json.dumps(item, sort_keys=True),
        )
    return st.lists(items, min_size=least, max_size=most)


def _strings(node: JsonSchema, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:  # noqa: ARG001
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    if "pattern" in node:
        longest: int = node.get("maxLength", 20)
        matching = st.from_regex(str(node["pattern"]), fullmatch=False)
        return matching.filter(lambda text: len(text) <= longest and "\n" not in text)
    plain = st.text(
        st.characters(codec="utf-8", exclude_characters="\x00"), min_size=node.get("minLength", 0)
    )
    limited = st.text(
        "abc1 é", min_size=node.get("minLength", 0), max_size=node.get("maxLength", 8)
    )
    if "maxLength" in node:
        return limited
    return (
        limited
        | plain.filter(lambda text: len(text) < _LONG)
        | st.sampled_from(["5", "null", "{}"])
    )


def _integers(node: JsonSchema, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:  # noqa: ARG001
    step: int = node.get("multipleOf", 1)
    low = cast("int", node.get("minimum", node.get("exclusiveMinimum", -(2**40))))
    high = cast("int", node.get("maximum", node.get("exclusiveMaximum", 2**40)))
    return st.integers(-(-low // step), high // step).map(lambda number: number * step)


def _numbers(node: JsonSchema, root: JsonSchema, depth: int) -> st.SearchStrategy[Any]:  # noqa: ARG001
    low = node.get("minimum", node.get("exclusiveMinimum", -1e9))
    high = node.get("maximum", node.get("exclusiveMaximum", 1e9))
    return st.floats(low, high, allow_nan=False, width=32).map(float)


_TYPED: Mapping[str, Callable[[JsonSchema, JsonSchema, int], st.SearchStrategy[Any]]] = {
    "object": _objects,
    "array": _arrays,
    "string": _strings,
    "integer": _integers,
    "number": _numbers,
    "boolean": lambda *_: st.booleans(),
    "null": lambda *_: st.none(),
}


def check_provider(
    provider: AnyProvider,
    tools: Iterable[Tool[..., Any] | Callable[..., Any]],
    *,
    examples: int = 50,
) -> None:
    """Check that a provider keeps the lens laws for these tools, in lenient and in strict form.

    ``back`` converts arguments from the wire form to the canonical form. *Sound*: if the sent
    schema admits a value, ``back`` converts the value to valid arguments. *Sayable*: every value
    that the function accepts has a wire form, and ``back`` restores the value. *Forgiving*:
    ``back`` leaves a call in canonical form unchanged. *Obedient*: the sent schema is valid JSON
    Schema. *Still*: two exports of the same tool give equal bytes. *Folding*: the stream events of
    a response fold back into the same response. This law is checked only if the provider has a
    ``server``. A provider may break a law only at a path for which a rewrite declares a loss.

    Args:
        provider: The name of a provider, or your own ``Provider``.
        tools: Tools or functions. Tools with unusual types are the best test of a provider.
        examples: The number of values to try for each law and tool.

    Raises:
        LawBrokenError: A law is broken. The message names the law, the tool, and a minimal value
            that breaks it.
        ExportError: One of the tools cannot be exported to the provider.
    """
    resolved = get(provider)
    for tool in map(as_tool, tools):
        for strict in (False, True) if resolved.schema.strict is not None else (False,):
            shown = to_wire(resolved, tool.spec, strict)
            check_shape(tool, shown, to_wire(resolved, tool.spec, strict), examples=examples)
            _check_folding(resolved, shown, examples)


def check_tool(
    tool: Tool[..., Any] | Callable[..., Any], arguments: JsonObject, *, examples: int = 50
) -> None:
    """Check that a tool is *true*: its canonical schema admits exactly the values
    that its pydantic model accepts.

    The check draws values from both sides: values that the schema admits, and values that the types
    in the pydantic model may accept. Values of the second kind use every name of a field: its own
    name and its aliases.

    JSON Schema cannot express some constraints: validators in code, and string forms without a
    standard format. If a tool has such a constraint, the check can fail although the tool is
    correct.

    Args:
        tool: The tool, or a function.
        arguments: Valid arguments. The check also tries variants of these arguments, each with one
            place changed.
        examples: The number of values to try from each side.

    Raises:
        LawBrokenError: The schema admits a value that the pydantic model rejects, or rejects a
            value that the pydantic model accepts.
    """
    resolved_tool = as_tool(tool)
    canonical_tool = WireTool(
        wire_name=resolved_tool.name,
        description=resolved_tool.description,
        is_strict=False,
        payload={},
        lens=Lens(schema=record_of(resolved_tool).definition.schema),
    )
    laws = _laws_of_tool(resolved_tool, canonical_tool)
    _profile(examples)(given(values(laws.canonical))(laws.true))()
    _profile(examples)(given(_mutate(arguments))(_without_new_formats(laws, arguments)))()
    if not record_of(resolved_tool).source.entry:
        model_values = values_for(resolved_tool.model.__pydantic_core_schema__)
        _profile(examples)(given(model_values)(laws.true))()


def check_slips(
    tool: Tool[..., Any] | Callable[..., Any],
    *arguments: JsonObject,
    examples: int = 5,
    coerce: Mapping[str, bool] | bool | None = None,
) -> Counter[tuple[SlipKind, Outcome, tuple[str, ...]]]:
    """Check that a tool never silently misreads malformed arguments, which
    ``slips`` derives from valid arguments.

    Args:
        tool: The tool, or a function.
        *arguments: Valid arguments. If you pass none, the check generates arguments from the tool's
            schema.
        examples: How many sets of valid arguments to generate.
        coerce: Coercion rules to switch on or off, as in a registry. The tool's own choices take
            precedence.

    Returns:
        The number of slips for each combination of a kind, an outcome, and the rules that coerced
        the slip.

    Raises:
        SilentlyWrongError: The tool misread a slip, or refused a slip without naming the place of
            the mistake.
        ValueError: The arguments that you passed are not valid without coercion.
    """
    resolved_tool = as_tool(tool)
    counts: Counter[tuple[SlipKind, Outcome, tuple[str, ...]]] = Counter()

    def check(valid: Any) -> None:
        for slip in slips(resolved_tool, valid):
            outcome, rules = check_slip(resolved_tool, slip, coerce=coerce)
            counts[slip.kind, outcome, rules] += 1

    validate = record_of(resolved_tool).compile_validation(
        ValidationSettings(resolved_tool.name, frozenset())
    )
    for valid in arguments:
        try:
            validate(valid)
        except CallError as error:
            raise ValueError(
                f"check_slips needs valid arguments, but the tool rejects these: {error}"
            ) from error
        check(valid)
    if not arguments:
        _profile(examples)(
            given(
                values(record_of(resolved_tool).definition.schema).filter(
                    functools.partial(_is_accepted, validate)
                )
            )(check)
        )()
    return counts


def _is_accepted(takes: Validate, value: Any) -> bool:
    """Return whether the pydantic model accepts a value.

    Its validators may check more than a schema can express.
    """
    try:
        takes(value)
    except CallError:
        return False
    return True


def _mutate(value: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for copies of a value in which one part is replaced, removed or added."""
    inner: list[st.SearchStrategy[Any]] = [_ANYTHING]
    if isinstance(value, dict):
        for key, item in value.items():
            inner.append(_mutate(item).map(functools.partial(_replace_at, value, key)))
            inner.append(st.just({name: kept for name, kept in value.items() if name != key}))
        inner.append(_ANYTHING.map(functools.partial(_replace_at, value, "something else")))
    if isinstance(value, list):
        inner.extend(
            _mutate(item).map(functools.partial(_replace_at, value, index))
            for index, item in enumerate(value)
        )
        inner.append(_ANYTHING.map(lambda new: [*value, new]))
    return st.one_of(inner)


def _without_new_formats(laws: "_Laws", arguments: Any) -> Callable[[Any], None]:
    """Return the law ``true`` for values whose formatted strings are those of the arguments.

    JSON Schema does not assert ``format``, so it admits any string where the pydantic model
    requires a UUID or a date.
    """
    formats = {
        match[1] for match in re.finditer(r'"format": "([^"]+)"', json.dumps(laws.canonical))
    }
    known_strings = {text for text in scalars(arguments) if isinstance(text, str)}
    checker = FormatChecker(formats=())
    for name in formats:
        checker.checks(name)(lambda text: not isinstance(text, str) or text in known_strings)
    with_known_formats = Draft202012Validator(laws.canonical, format_checker=checker)

    def true(value: Any) -> None:
        if with_known_formats.is_valid(value) or not laws.admitted.is_valid(value):
            laws.true(value)

    return true


def _replace_at(value: Any, step: Any, new: Any) -> Any:
    changed = value.copy()
    changed[step] = new
    return changed


def _check_folding(provider: Provider, shown: WireTool, examples: int) -> None:
    """Check that a response reads the same after its stream events are folded back into one
    body.
    """
    server = provider.server
    if server is None:
        return

    @_profile(examples)
    @given(values(shown.lens.schema), st.text(max_size=40))
    def law(arguments: Any, text: str) -> None:
        completion = Completion(
            "m",
            "0",
            text,
            (WireCall("call00001", shown.wire_name, arguments),),
            finish="tool_calls",
        )
        body: JsonObject = json.loads(json.dumps(server.respond(completion)))
        folded: JsonObject = {}
        for event in server.unfold(copy.deepcopy(body)):
            provider.response.fold(folded, json.loads(json.dumps(event)))
        whole, streamed = provider.response.read(body), provider.response.read(folded)
        if (
            whole is None
            or streamed is None
            or _calls_and_finish(whole) != _calls_and_finish(streamed)
        ):
            raise LawBrokenError(
                "folding", shown, f"the folded stream reads differently: {streamed!r}", body
            )

    law()


def _calls_and_finish(reading: Read) -> Any:
    """Return the calls and the finish reason from a parsed response."""
    return [tuple(call)[:3] for call in reading[1]], reading[2]


def _profile(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,  # with several bugs, Hypothesis would raise an exception group
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=cast("Any", list(HealthCheck)),
    )


def check_shape(tool: Tool[..., Any], shown: WireTool, again: WireTool, *, examples: int) -> None:
    """Check the laws for one tool in one wire form.

    Args:
        tool: The tool.
        shown: The tool as exported.
        again: A second export of the same tool, for the law *still*.
        examples: The number of values to try for each law.

    Raises:
        LawBrokenError: A law is broken.
    """
    _check_laws(_laws_of_tool(tool, shown), again, examples)


def _check_laws(laws: "_Laws", again: WireTool, examples: int) -> None:
    shown = laws.shown
    if json.dumps(shown.payload) != json.dumps(again.payload):
        raise LawBrokenError("still", shown, "two exports differ", shown.payload)
    try:
        Draft202012Validator.check_schema(in_2020_12(shown.lens.schema))
    except Exception as error:
        raise LawBrokenError(
            "obedient", shown, str(error).split("\n")[0], shown.lens.schema
        ) from error
    _profile(examples)(given(values(shown.lens.schema))(laws.sound))()
    _profile(examples)(given(values(laws.canonical))(laws.sayable))()


def check_output(provider: AnyProvider, output: Output[Any], *, examples: int = 50) -> None:
    """Check that an output keeps the laws for a provider, in lenient and in strict
    form if the provider has both.

    ``check_provider`` describes the laws. Here the laws apply to the answer instead of the
    arguments. *Folding* means: if a response contains an answer, reading the whole response or its
    stream gives the same value. This law is checked only if the provider has a ``server``.

    Args:
        provider: The name of a provider, or your own ``Provider``.
        output: The output.
        examples: The number of values to try for each law.

    Raises:
        LawBrokenError: A law is broken. The message names the law, the output, and a minimal value
            that breaks it.
        ExportError: The output cannot be exported to the provider.
    """
    resolved, record = get(provider), record_of_output(output)
    form = resolved.output
    if form is None or form.schema is None:
        rules = resolved.schema
    else:
        rules = form.schema
    has_lenient = form is None or not form.is_always_strict
    forms: list[Strictness] = [False] if has_lenient else []
    if rules.strict is not None:
        forms.append(True)
    for strict in forms or ["auto"]:
        shown, again = (_wire_form(resolved, output, strict) for _ in range(2))
        read_canonical = compile_answer_reading(
            record.definition,
            Lens(schema=record.spec.schema),
            frozenset(),
            is_wrapped=record.is_wrapped,
        )
        laws = _Laws(record.spec.schema, functools.partial(_read_answer, read_canonical), shown)
        _check_laws(laws, again, examples)
        _check_answers(resolved, output, strict, laws, examples)


def _wire_form(provider: Provider, output: Output[Any], strict: Strictness) -> WireTool:
    wire = output_to_wire(provider, record_of_output(output).spec, strict)
    return WireTool(
        wire_name=output.name,
        description="",
        is_strict=wire.is_strict,
        payload=wire.keywords,
        lens=wire.lens,
    )


def _read_answer(read: ReadAnswerText, value: Any) -> Any:
    try:
        return {"value": read(json.dumps(value), False)[0]}
    except AnswerError:
        return None


def _check_answers(
    provider: Provider, output: Output[Any], strict: Strictness, laws: "_Laws", examples: int
) -> None:
    """Check that the value of an answer can be read back, both from the
    whole response and from its stream.
    """
    server, bound = provider.server, output.bind(provider, strict)
    if server is None:
        return

    @_profile(examples)
    @given(values(laws.canonical))
    def law(value: Any) -> None:
        expected, sent = laws.read(value), laws.out(value)
        if expected is None or laws.read(laws.back(sent)) != expected:  # left to the law *sayable*
            return
        written = json.dumps(sent)
        call = WireCall("call00001", bound.tool or "", json.loads(written))
        completion = Completion("m", "0", written, ())
        if bound.tool:
            completion = Completion("m", "0", "", (call,))
        body: JsonObject = json.loads(json.dumps(server.respond(completion)))
        collector = bound.collector()
        for event in server.unfold(copy.deepcopy(body)):
            collector.feed(json.loads(json.dumps(event)))
        for answer in (bound.read(body), collector.close()):
            if not answer.ok or {"value": answer.value} != expected:
                raise LawBrokenError(
                    "folding",
                    laws.shown,
                    f"the answer is read as {answer!r}, not {expected!r}; error: "
                    f"{answer.error or 'none'}",
                    value,
                )

    law()


def in_2020_12(schema: JsonSchema) -> JsonSchema:
    """Convert a schema from OpenAPI's dialect (upper-case types,
    ``nullable``) to JSON Schema 2020-12.
    """

    def rule(node: JsonSchema, at: Place) -> Change | None:
        if isinstance(node.get("type"), str) and not node["type"].islower():
            node = {**node, "type": node["type"].lower()}
        return nullable_as_null(node, at) or Change(node=node)

    return everywhere(rule)(schema).schema


def _has_one_key_twice(value: Any) -> bool:
    """Return whether an object in a value has two keys that are the same
    number, such as ``0`` and ``-0``.
    """
    if isinstance(value, list):
        return any(map(_has_one_key_twice, value))
    if not isinstance(value, dict):
        return False
    numbers = []
    for key in value:
        with contextlib.suppress(ValueError):
            numbers.append(float(key))
    return len(set(numbers)) < len(numbers) or any(map(_has_one_key_twice, value.values()))


@dataclasses.dataclass
class _Laws:
    """Checks single values against the laws, for one tool or output in one wire form.

    ``read`` validates a canonical value, and returns what the program receives, in a form that
    ``==`` can compare. If validation rejects the value, ``read`` returns ``None``.
    """

    canonical: JsonSchema
    read: Callable[[Any], Any]
    shown: WireTool

    def __post_init__(self) -> None:
        self.admitted = Draft202012Validator(self.canonical)
        self.showable = Draft202012Validator(in_2020_12(self.shown.lens.schema))
        losses = self.shown.lens.losses
        self.loose = [loss.path for loss in losses if loss.kind in ("widened", "dropped", "moved")]
        self.narrow = [loss.path for loss in losses if loss.kind == "narrowed"]
        self.closed = any(
            loss.kind == "narrowed" and loss.keyword == "additionalProperties" for loss in losses
        )
        self.ambiguous = any(loss.ambiguous for loss in losses)
        self.branches_alike = any(
            loss.ambiguous and loss.keyword in ("anyOf", "oneOf") for loss in losses
        )

    def back(self, value: Any) -> Any:
        if self.shown.lens.back is None:
            return value
        return self.shown.lens.back(value)

    def out(self, value: Any) -> Any:
        if self.shown.lens.out is None:
            return value
        return self.shown.lens.out(value)

    def true(self, value: Any) -> None:
        error = next(self.admitted.iter_errors(value), None)
        accepted = self.read(value) is not None
        if error is None and not accepted and _has_one_key_twice(value):
            return  # a schema cannot say that two keys become the same number
        if accepted is not (error is None):
            raise LawBrokenError(
                "true",
                self.shown,
                "the pydantic model rejects this value" if error is None else error.message,
                value,
            )

    def sound(self, value: Any) -> None:
        try:
            canonical = self.back(value)
        except UnreadableError as unread:
            if not any(_covers(loss, unread.schema_path) for loss in self.loose):
                raise LawBrokenError(
                    "sound", self.shown, f"{path_of(unread.location)}: {unread}", value
                ) from unread
            return
        for error in self.admitted.iter_errors(canonical):
            if not any(
                _covers(loss, path) for path in _paths(error, self.canonical) for loss in self.loose
            ):
                raise LawBrokenError(
                    "sound",
                    self.shown,
                    f"{error.message} (canonical: {json.dumps(canonical)[:500]})",
                    value,
                )

    def sayable(self, value: Any) -> None:
        expected = self.read(value)
        # The pydantic model rejects the value for a reason that the schema cannot express.
        if expected is None:
            return
        if self.read(value) != expected:  # a default differs each time, for example the time of day
            return
        wire_value = self.out(value)
        error = next(self.showable.iter_errors(wire_value), None)
        if error is not None and not self.closed:
            raise LawBrokenError(
                "sayable",
                self.shown,
                f"{error.message} (wire form: {json.dumps(wire_value)[:500]})",
                value,
            )
        if (
            error is None
            and not self.branches_alike
            and not self.narrow
            and self.read(self.back(wire_value)) != expected
        ):
            message = (
                f"back returns {json.dumps(self.back(wire_value))[:500]}"
                f" for the wire form {json.dumps(wire_value)[:500]}"
            )
            raise LawBrokenError("sayable", self.shown, message, value)
        if not self.ambiguous and self.read(self.back(value)) != expected:
            raise LawBrokenError(
                "forgiving",
                self.shown,
                f"back changes this value to {json.dumps(self.back(value))[:500]}",
                value,
            )


def _laws_of_tool(tool: Tool[..., Any], shown: WireTool) -> _Laws:
    canonical: JsonSchema = record_of(tool).definition.schema
    admitted = Draft202012Validator(canonical)
    validate = record_of(tool).compile_validation(ValidationSettings(tool.name, frozenset()))

    def read(value: Any) -> Any:
        if record_of(tool).source.entry:
            if admitted.is_valid(value):
                return {"fields": value, "extra": None}
            return None
        try:
            model, _ = validate(json.dumps(value))
        except CallError:
            return None
        return {"fields": model.__dict__, "extra": model.__pydantic_extra__}

    return _Laws(canonical, read, shown)


def _covers(loss: str, path: str) -> bool:
    return path == loss or (bool(loss) and path.startswith((f"{loss}.", f"{loss}[")))


def _paths(error: Any, schema: JsonSchema) -> Iterator[str]:
    """Yield the paths of a validation error in the notation of loss paths,
    so ``_covers`` can compare both.
    """
    # The path of a loss starts either at the root of the schema or at the definition that contains
    # the place. The path of a jsonschema error omits the references on the way. Therefore this loop
    # follows each reference: it yields the path inside the current definition, and restarts
    # ``short`` with the name of the next definition.
    full, short, node = "", "", schema
    steps = list(error.absolute_schema_path)
    while steps and isinstance(node, dict):
        if "$ref" in node:
            yield short
            short = definition_name(node["$ref"])
            node = schema["$defs"][short]
            continue
        step, *steps = steps
        if step in ("properties", "prefixItems") and steps:
            name, *steps = steps
            if step == "prefixItems":
                added = f"[{name}]"
            else:
                added = f".{name}"
            full, short, node = (
                (full + added).lstrip("."),
                (short + added).lstrip("."),
                node[step][name],
            )
        elif step in ("items", "additionalProperties") and steps:
            added = "[]" if step == "items" else ".*"
            full, short, node = (full + added).lstrip("."), (short + added).lstrip("."), node[step]
        elif step in ("anyOf", "oneOf", "allOf") and steps:
            index, *steps = steps
            node = node[step][index]
        else:
            break
    yield from (full, short)
    for inner in error.context or ():
        yield from _paths(inner, schema)
