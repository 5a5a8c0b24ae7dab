"""Makes malformed arguments, as models write them, and checks how a tool handles them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from toolshape._records.calls import JsonObject
from toolshape._records.errors import CallError
from toolshape._schema.places import Location
from toolshape._schema.values import entries_inside
from toolshape._tools.tool import Tool, record_of
from toolshape._validation.coercion import choose_rules
from toolshape._validation.faults import path_of
from toolshape._validation.settings import ValidationSettings

SlipKind = Literal[
    "wrong_type", "wrapped", "nested_text", "null", "missing", "extra", "misspelt", "enum_case",
    "truncated", "doubled",
    "not_json",
]  # fmt: skip
Outcome = Literal["coerced", "refused"]
_WRAPPERS = ("arguments", "input", "parameters", "args")
_NOTE = "explanation"
_SHORT = (
    3  # In letters. If a letter is missing from a name this short, the name is not recognisable.
)


class Slip(NamedTuple):
    """A malformed payload as a model might send it, the arguments that the model
    ``intended``, and the kind of mistake.

    If a tool refuses the payload, the error must name one of ``paths`` (written as in
    ``Problem.path``). If the whole payload is wrong, ``paths`` is empty.
    """

    kind: SlipKind
    payload: Any
    intended: JsonObject
    paths: tuple[str, ...] = ()


class SilentlyWrongError(AssertionError):
    """A tool silently misread a ``slip``, or refused the slip without
    naming the place of the mistake.
    """

    def __init__(self, tool: str, slip: Slip, said: str) -> None:
        self.slip = slip
        super().__init__(
            f"{tool}: {slip.kind} at {slip.paths or 'the whole payload'}: {said}\n  payload: "
            f"{slip.payload!r}"[:2000]
        )


def slips(tool: Tool[..., Any], arguments: JsonObject) -> Iterator[Slip]:
    """Yield malformed variants of valid arguments: a few of each kind at
    every place, and every truncation.

    If the tool accepts a payload without coercion, the payload is not a slip: nothing shows that
    the model meant another value.

    Args:
        tool: The tool.
        arguments: Valid arguments, as JSON.
    """
    validate = record_of(tool).compile_validation(ValidationSettings(tool.name, frozenset()))
    seen_payloads: set[str] = set()
    null = {name: None for name in arguments if _is_accepted(validate, {**arguments, name: None})}
    for slip in (*_all_slips(tool.name, arguments), Slip("null", dict.fromkeys(arguments), null)):
        key = f"{type(slip.payload)} {slip.payload!r}"
        if key not in seen_payloads and not _is_accepted(validate, slip.payload):
            seen_payloads.add(key)
            yield slip


def _is_accepted(takes: Any, payload: Any) -> bool:
    try:
        return not takes(payload)[1]
    except Exception:  # a validator that the tool's author wrote may raise any exception
        return False


def check_slip(
    tool: Tool[..., Any], slip: Slip, *, coerce: Mapping[str, bool] | bool | None = None
) -> tuple[Outcome, tuple[str, ...]]:
    """Check that a tool coerces a slip to the intended arguments and records this, or
    refuses it and names the place.

    Args:
        tool: The tool.
        slip: The slip.
        coerce: Coercion rules to switch on or off, as in a registry. The tool's own choices take
            precedence.

    Returns:
        The outcome, and the rules that coerced the payload.

    Raises:
        SilentlyWrongError: The tool coerces the slip to other arguments, or accepts it without
            recording a coercion. Or the tool refuses the slip without naming the place.
    """
    settings = ValidationSettings(tool.name, choose_rules(coerce, tool.coerce))
    expected_fields = _expected_fields(tool, slip.intended)
    try:
        validated, coercions = record_of(tool).compile_validation(settings)(slip.payload)
    except CallError as error:
        if not _names_the_place(error, slip):
            raise SilentlyWrongError(
                tool.name, slip, f"refused without naming the place: {error}"
            ) from error
        return "refused", ()
    if not coercions:
        raise SilentlyWrongError(tool.name, slip, "accepted, but no coercion was recorded")
    # Equal ``repr`` suffices: a default that is NaN does not equal itself.
    if _fields(validated) != expected_fields and repr(_fields(validated)) != repr(expected_fields):
        raise SilentlyWrongError(
            tool.name,
            slip,
            f"coerced to {_fields(validated)!r} by {[coercion.rule for coercion in coercions]}",
        )
    return "coerced", tuple(dict.fromkeys(coercion.rule for coercion in coercions))


def _expected_fields(tool: Tool[..., Any], intended: JsonObject) -> Any:
    """Return the fields that the function should receive, or ``None`` if the
    intended arguments are invalid.
    """
    try:
        return _fields(
            record_of(tool).compile_validation(ValidationSettings(tool.name, frozenset()))(
                intended
            )[0]
        )
    except CallError:
        return None


def _fields(validated: Any) -> Any:
    if isinstance(validated, dict):
        return validated
    return {**validated.__dict__, **(validated.__pydantic_extra__ or {})}


def _names_the_place(error: CallError, slip: Slip) -> bool:
    """Return whether a problem in the error names the place of the slip, a place
    inside it, or a place around it.

    For truncated text, the error code is enough. For malformed text, and for a slip without paths,
    any problem is enough.
    """
    if slip.kind == "truncated":
        return error.code == "truncated_arguments"
    if not slip.paths or error.code == "malformed_arguments":
        return bool(error.problems)
    paths = [problem.path for problem in error.problems]
    return any(_is_at(named, path) or _is_at(path, named) for named in paths for path in slip.paths)


def _is_at(inner: str, outer: str) -> bool:
    return inner == outer or not outer or inner.startswith((f"{outer}.", f"{outer}["))


# --- the malformed payloads ---------------------------------------------------------------------


def _all_slips(name: str, arguments: JsonObject) -> Iterator[Slip]:
    for location, value in _places(arguments, ()):
        yield from _slips_at_place(arguments, location, value)
        if isinstance(value, dict):
            yield from _slips_in_object(arguments, location, value)
    yield from _slips_of_whole(name, arguments)


def _places(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    yield location, value
    items = entries_inside(value)
    for step, item in items:
        yield from _places(item, (*location, step))


def _slips_at_place(arguments: JsonObject, location: Location, value: Any) -> Iterator[Slip]:
    if not location:
        return
    path = path_of(location)
    for kind, written in _other_forms(value):
        yield Slip(kind, _replace_at(arguments, location, written), arguments, (path,))
    # A null that the tool rejects can only mean that the model wanted to omit the place.
    if value is not None:
        yield Slip(
            "null", _replace_at(arguments, location, None), _remove_at(arguments, location), (path,)
        )
    if isinstance(location[-1], str):
        yield Slip("missing", _remove_at(arguments, location), arguments, (path,))


def _other_forms(value: Any) -> Iterator[tuple[SlipKind, Any]]:
    """Yield wrong forms in which models often write a value, although
    the schema does not ask for them.
    """
    yield "wrapped", [value]
    yield "wrapped", {"value": value}
    if isinstance(value, (dict, list)):
        yield "nested_text", json.dumps(value)
        yield "nested_text", json.dumps(json.dumps(value))
        yield "nested_text", str(value)
    if isinstance(value, dict):
        yield "wrong_type", [{"key": key, "value": item} for key, item in value.items()]
    elif isinstance(value, list):
        yield "wrapped", {"items": value}
        if len(value) == 1:
            yield "wrong_type", value[0]
        if value and all(
            isinstance(item, (str, int)) and not isinstance(item, bool) for item in value
        ):
            yield "wrong_type", ", ".join(map(str, value))
    elif isinstance(value, str):
        yield from _other_texts(value)
    else:
        yield from _other_scalars(value)


def _other_texts(value: str) -> Iterator[tuple[SlipKind, Any]]:
    for written in (value.upper(), value.lower(), value.capitalize()):
        if written != value and written.casefold() == value.casefold():
            yield "enum_case", written
    yield "wrong_type", f" {value} "
    yield "nested_text", json.dumps(value)
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,15})", value, re.ASCII):
        yield "wrong_type", int(value)


def _other_scalars(value: Any) -> Iterator[tuple[SlipKind, Any]]:
    text = json.dumps(value)
    yield "wrong_type", text
    yield "wrong_type", str(value)
    if isinstance(value, bool):
        for word in (int(value), str(value).upper(), "yes" if value else "no"):
            yield "wrong_type", word
    elif isinstance(value, int):
        yield "wrong_type", float(value)
        for written in (f"0{text}", f"+{text}", f"{text}.0", f"{text} units", f" {text}"):
            yield "wrong_type", written
    elif isinstance(value, float):
        yield "wrong_type", text.replace(".", ",")
        yield "wrong_type", f"{text}%"


def _slips_in_object(
    arguments: JsonObject, location: Location, value: JsonObject
) -> Iterator[Slip]:
    if _NOTE not in value:
        noted = _replace_at(arguments, location, {**value, _NOTE: "because it is asked for"})
        yield Slip("extra", noted, arguments, (path_of((*location, _NOTE)),))
    for name, item in value.items():
        for wrong_name in _misspelt(name):
            if wrong_name not in value:
                renamed = {
                    wrong_name if key == name else key: inner for key, inner in value.items()
                }
                paths = (path_of((*location, wrong_name)), path_of((*location, name)))
                yield Slip("misspelt", _replace_at(arguments, location, renamed), arguments, paths)
        pairs = ", ".join(f"{json.dumps(key)}: {json.dumps(inner)}" for key, inner in value.items())
        doubled_text = f"{{{json.dumps(name)}: {json.dumps(item)}, {pairs}}}"
        yield Slip(
            "doubled",
            _dump_with_text(arguments, location, doubled_text),
            arguments,
            (path_of((*location, name)),),
        )


def _misspelt(name: str) -> Iterable[str]:
    camel = re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name)
    snake = re.sub(r"(?<=[a-z])([A-Z])", lambda letter: f"_{letter[1].lower()}", name)
    middle = len(name) // 2
    variants = (
        name.upper(),
        name.capitalize(),
        camel,
        snake,
        f"{name}{name[-1:]}",
        name.replace("_", "-"),
    )
    cut = (name[:-1], name[:middle] + name[middle + 1 :]) if len(name) > _SHORT else ()
    return [variant for variant in dict.fromkeys((*variants, *cut)) if variant and variant != name]


def _slips_of_whole(name: str, arguments: JsonObject) -> Iterator[Slip]:
    text = json.dumps(arguments)
    for wrapper in (*_WRAPPERS, name):
        yield Slip("wrapped", {wrapper: arguments}, arguments)
        yield Slip("wrapped", {wrapper: text}, arguments)
    yield Slip("wrapped", json.dumps([arguments]), arguments)
    yield Slip("nested_text", json.dumps(text), arguments)
    yield Slip("nested_text", json.dumps(json.dumps(text)), arguments)
    for doubled in (text + text, text + "{}", "{}" + text, text + '""', f"[{text}, {text}]"):
        yield Slip("doubled", doubled, arguments)
    for length in range(1, len(text.encode())):
        yield Slip(
            "truncated", text.encode()[:length].decode(errors="ignore") or text[:1], arguments
        )
    for malformed_text in (
        str(arguments), f"```json\n{text}\n```", f"{text[:-1]},}}", f"{text} // that is all",
        f"Here it is: {text}",
        text.replace("}", "", 1), text.replace(",", "", 1),
    ):  # fmt: skip
        yield Slip("not_json", malformed_text, arguments)
    # Otherwise, changing the quotes would change the meaning.
    if not re.search(r"\\|'|:[^ ]", text):
        yield Slip("not_json", text.replace('"', "'"), arguments)
        yield Slip("not_json", re.sub(r'"([A-Za-z_]+)": ', r"\1: ", text), arguments)


def _replace_at(value: Any, location: Location, new: Any) -> Any:
    if not location:
        return new
    copy = value.copy()
    copy[location[0]] = _replace_at(value[location[0]], location[1:], new)
    return copy


def _remove_at(value: Any, location: Location) -> Any:
    copy = value.copy()
    if len(location) == 1:
        del copy[location[0]]
    else:
        copy[location[0]] = _remove_at(value[location[0]], location[1:])
    return copy


def _dump_with_text(value: Any, location: Location, text: str) -> str:
    """Return a value as JSON, with ``text`` in place of the part at ``location``.

    ``text`` may hold duplicate keys.
    """
    mark = "\x00here\x00"
    return json.dumps(_replace_at(value, location, mark)).replace(json.dumps(mark), text)
