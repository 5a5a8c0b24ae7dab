"""Builds calls from the fields that the scanner recorded: names, ids and arguments."""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from toolshape._families.text.braces import read_braces
from toolshape._families.text.elements import Elements, read_elements
from toolshape._families.text.format import Fields, TextCall, TextFormat
from toolshape._schema.values import WrittenObject, as_json, read_json

_NAMES = ("name", "tool_name", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_IDS = ("id", "tool_call_id", "call_id")


def calls_in(
    text_format: TextFormat, fields: Fields, *, is_cut: bool = False
) -> tuple[TextCall, ...]:
    """Return the calls in the fields, or ``()`` if the fields are not a call, for
    example because a name is missing.
    """
    calls: list[TextCall] = []
    is_bare = ("bare", "") in fields
    for field, text in fields:
        if field == "json":
            calls += _calls_of_json(text_format, text, is_cut=is_cut, is_bare=is_bare)
        elif field == "python":
            calls += _calls_of_python(text)
        elif field == "name":
            written_name = text.strip()
            calls.append(
                TextCall(
                    _name_in(text_format, written_name),
                    [],
                    written_name if text_format.id_form else "",
                )
            )
        elif calls:
            calls[-1] = _add_field(text_format, calls[-1], field, text, is_cut=is_cut)
    if any(not call.name for call in calls):
        return ()
    calls_with_objects = [call._replace(arguments=_to_object(call.arguments)) for call in calls]
    if is_cut and calls_with_objects:
        calls_with_objects[-1] = calls_with_objects[-1]._replace(is_cut=True)
    return tuple(calls_with_objects)


def _add_field(
    text_format: TextFormat, call: TextCall, field: str, text: str, *, is_cut: bool
) -> TextCall:
    """Return a call with one more field: its id, its arguments, or a part of a parameter in tags.

    Each parameter is a pair of a key and a value. Until the value arrives, the pair holds a
    function in its place. This function will read the value: it is the reader for the type that the
    model declared, or ``_keep``.
    """
    if field == "id":
        return call._replace(id=text.strip())
    if field == "arguments":
        return call._replace(arguments=text)
    if field == "braces":
        return call._replace(
            arguments=_read_or_keep(partial(read_braces, quote=text_format.quote), text)
        )
    if field == "elements":
        return call._replace(
            arguments=_read_or_keep(
                partial(read_elements, mark=text_format.tag_mark, is_cut=is_cut), text
            )
        )
    if field == "key":
        call.arguments.append((_decode_entities(text_format, text.strip().strip("\"'")), _keep))
    elif field == "kind":
        key, _ = call.arguments.pop()
        declared = next((kind for mark, kind in text_format.declared if mark in text), "")
        call.arguments.append((key, _READERS.get(declared, _keep)))
    elif field == "value":
        key, declared = call.arguments.pop()
        if text_format.has_line_ends:
            value = _strip_line_ends(text)
        else:
            value = text
        call.arguments.append((key, declared(value)))
    return call


def _read_or_keep(read: Callable[[str], Any], text: str) -> Any:
    """Read arguments.

    If they are malformed, return their text: toolshape then asks the model to write them again.
    """
    try:
        return read(text)
    except ValueError:
        return text


def _keep(value: str) -> str:
    return value


class SaidText(str):
    """A value that the model declared as a string."""

    __slots__ = ()


_READERS: Mapping[str, Callable[[str], Any]] = {"json": as_json, "text": SaidText}


def _to_object(arguments: Any) -> Any:
    """Convert pairs of keys and values to an object, and drop a key whose value was cut off."""
    if not isinstance(arguments, list) or isinstance(arguments, Elements):
        return arguments
    pairs = [(key, value) for key, value in arguments if not callable(value)]
    if len({key for key, _ in pairs}) == len(pairs):
        return dict(pairs)
    return WrittenObject(pairs)


def _name_in(text_format: TextFormat, text: str) -> str:
    """Return the tool's name from the text that names a call."""
    text = text.strip("\"'")
    if text_format.name_pattern:
        match = re.fullmatch(text_format.name_pattern, text, re.DOTALL)
    else:
        match = None
    return _decode_entities(text_format, text if match is None else match["name"])


def _decode_entities(text_format: TextFormat, text: str) -> str:
    """Decode the entities in a name or a key, if the format writes names and keys as attributes."""
    if text_format.has_entities:
        return text.replace("&quot;", '"').replace("&amp;", "&")
    return text


def _strip_line_ends(text: str) -> str:
    """Strip the line ends that a template writes on both sides of a value; some models write
    none.
    """
    if text.startswith("\n"):
        return text[1:].removesuffix("\n")
    return text


# --- JSON ---------------------------------------------------------------------------------------


def _calls_of_json(
    text_format: TextFormat, text: str, *, is_cut: bool, is_bare: bool
) -> Sequence[TextCall]:
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        return _calls_of_malformed_json(text_format, text, is_cut=is_cut)
    items = value if isinstance(value, list) else [value]
    calls = [_call_of_object(item, is_bare=is_bare) for item in items]
    if not calls or None in calls:
        if _are_by_name(text_format, items):
            return [TextCall(*pair) for item in items for pair in item.items()]
        return ()
    return [call for call in calls if call is not None]


def _are_by_name(text_format: TextFormat, items: Sequence[Any]) -> bool:
    """Return whether the format uses the tool's name as the only key of a
    call, and every item has this form.
    """
    return text_format.is_keyed_by_name and all(
        isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), dict)
        for item in items
    )


def _call_of_object(item: Any, *, is_bare: bool = False) -> TextCall | None:
    if not isinstance(item, dict):
        return None
    function = item.get("function")
    if isinstance(function, dict):  # an entry of ``tool_calls``, as in a message
        item = {**item, **function}
        del item["function"]
    name = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), "")
    arguments = next((item[key] for key in _ARGUMENTS if key in item), None)
    call_id = next((item[key] for key in _IDS if isinstance(item.get(key), (str, int))), "")
    # Without a mark, only an object that says "no arguments" itself is a call (Llama: "parameters":
    # null).
    may_lack = _may_lack_arguments(item) and not (is_bare and item.keys().isdisjoint(_ARGUMENTS))
    if not name or (arguments is None and not may_lack):
        return None
    return TextCall(name, {} if arguments is None else arguments, str(call_id))


def _may_lack_arguments(item: Mapping[str, Any]) -> bool:
    """Return whether an object without arguments is a call: every key of the
    object must be a key of a call.
    """
    return set(item) <= {*_NAMES, *_IDS, *_ARGUMENTS, "type"}


_NAME = re.compile(r'"(?:name|tool_name)"\s*:\s*"((?:[^"\\]|\\.)+)"')
_NAME_AS_KEY = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)+)"\s*:\s*')
_BEFORE_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*')


def _calls_of_malformed_json(
    text_format: TextFormat, text: str, *, is_cut: bool
) -> Sequence[TextCall]:
    """Return the call in JSON that cannot be parsed, with the arguments as the model wrote them.

    toolshape answers this call as malformed or cut off, so the model can write the call again. In a
    list, the objects before the error become separate calls, and the rest of the list becomes one
    call.
    """
    calls: list[TextCall] = []
    for part in _split_list(text):
        name_match, before_arguments = _NAME.search(part), _BEFORE_ARGUMENTS.search(part)
        if text_format.is_keyed_by_name:
            name_match = before_arguments = _NAME_AS_KEY.match(part)
        if name_match is None:
            continue
        try:
            value: Any = json.loads(part, strict=False)
        except (ValueError, RecursionError):
            value = None
        parsed_call = _call_of_object(value)
        if parsed_call is None and _are_by_name(text_format, [value]):
            parsed_call = TextCall(*next(iter(value.items())))
        if parsed_call is not None:
            calls.append(parsed_call)
            continue
        if before_arguments is not None:
            arguments = part[before_arguments.end() :]
        else:
            arguments = part
        if is_cut and before_arguments is None:
            arguments = "{"  # the arguments have not begun
        calls.append(
            TextCall(name_match[1], arguments.rstrip().removesuffix("," if is_cut else ""))
        )
    return calls


def _split_list(text: str) -> list[str]:
    """Split a malformed JSON list: return each object before the error,
    and then the rest as one string.
    """
    stripped = text.lstrip()
    if not stripped.startswith("["):
        return [text]
    parts, position = list[str](), 1
    decode = json.JSONDecoder(strict=False).raw_decode
    while True:
        while position < len(stripped) and stripped[position] in " \t\r\n,":
            position += 1
        try:
            _, end = decode(stripped, position)
        except (ValueError, RecursionError):
            return [*parts, stripped[position:]]
        parts.append(stripped[position:end])
        position = end


# --- Python -------------------------------------------------------------------------------------


def _calls_of_python(text: str) -> Sequence[TextCall]:
    """Parse a Python call, or a list of Python calls, without evaluating anything."""
    try:
        tree = _parse_python(text)
        if isinstance(tree, ast.List):
            nodes = tree.elts
        else:
            nodes = [tree]
        return [_call_of_node(node) for node in nodes]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        names = _CALLED.findall(text)[:1]
        return [TextCall(name, text) for name in names]


_CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(")


def _parse_python(text: str) -> ast.expr:
    """Parse an expression; if that fails, repair the text and parse it again.

    Models write line ends and other control characters inside single-quoted and double-quoted
    strings. They also write numbers with leading zeros, such as ``month=07``.
    """
    text = _double_backslashes(text.strip())
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        repaired = _STRING_OR_ZEROS.sub(_repair, text)
        if repaired == text:
            raise
        return ast.parse(repaired, mode="eval").body


_STRING_OR_ZEROS = re.compile(
    r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|(?<![\w.])0+(?=[0-9])", re.DOTALL
)
_CONTROLS = {"\n": "\\n", "\r": "\\r", "\0": "\\0"}


def _repair(match: re.Match[str]) -> str:
    if match[0].startswith("0"):
        return ""
    return re.sub("[\n\r\0]", lambda control: _CONTROLS[control[0]], match[0])


def _call_of_node(node: ast.expr) -> TextCall:
    if not isinstance(node, ast.Call):
        raise ValueError("not a call")  # noqa: TRY004 - ValueError, as for all malformed text
    name = ast.unparse(node.func)
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        return TextCall(name, ast.unparse(node))  # malformed: an argument has no parameter name
    pairs = [(str(keyword.arg), _read_literal(keyword.value)) for keyword in node.keywords]
    return TextCall(name, pairs)


_JSON_NAMES: Mapping[str, Any] = {"true": True, "false": False, "null": None}


def _read_literal(node: ast.expr) -> Any:
    """Return the JSON value of a literal.

    ``true``, ``false`` and ``null`` are literals here, because models mix them with Python's
    constants. Tuples and sets become lists. A key that is not a string becomes its JSON text, as
    ``json.dumps`` writes it.

    Raises:
        ValueError: The expression is not a literal that JSON can hold.
    """
    # Only literals are taken, so that nothing a model writes is run: no name but JSON's three, no
    # operator but a sign, no call. ``ast.literal_eval`` would take bytes and complex numbers, too.
    if isinstance(node, ast.Constant):
        if node.value is None or isinstance(node.value, (str, bool, int, float)):
            return node.value
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_read_literal(item) for item in node.elts]
    elif isinstance(node, ast.Dict):
        return {
            _read_key(key): _read_literal(item)
            for key, item in zip(node.keys, node.values, strict=True)
        }
    elif isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = _read_literal(node.operand)
        if isinstance(operand, (int, float)) and not isinstance(operand, bool):
            if isinstance(node.op, ast.USub):
                return -operand
            return operand
    raise ValueError("not a literal that JSON can hold")


def _read_key(node: ast.expr | None) -> str:
    if node is None:  # ``**other``
        raise ValueError("not a key")
    key = _read_literal(node)
    if isinstance(key, str):
        return key
    return json.dumps(key)


def read_python_literal(text: str) -> Any:
    """Parse a Python literal without evaluating anything.

    Raises:
        ValueError: The text is not a literal that JSON can hold.
    """
    try:
        return _read_literal(ast.parse(_double_backslashes(text.strip()), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError, TypeError) as error:
        raise ValueError("not a Python literal") from error


_ESCAPE = re.compile(r"\\(?:[\\'\"abfnrtvxuUN\n0-3]|(.))", re.DOTALL)


_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_DIGIT_AND_LETTER = re.compile(r"[0-9]\.?[A-Za-z_]")  # a cheap first test: most text does not match
_NUMBER_AND_WORD = re.compile(r"(?<![\w.])\d[\d.]*(?![eE][+-]?\d)[A-Za-z_]")


def _double_backslashes(text: str) -> str:
    """Double each backslash that does not begin a Python escape, because Python emits
    a warning for such a backslash.

    Raises:
        ValueError: A word directly follows a number. This is not a literal, and Python would emit a
            warning for it.
    """
    if _DIGIT_AND_LETTER.search(text) and _NUMBER_AND_WORD.search(_STRING.sub("''", text)):
        raise ValueError("a number and a word without a space")
    if not any(_ESCAPE.findall(text)):
        return text
    return _ESCAPE.sub(lambda found: found[0] if found[1] is None else f"\\\\{found[1]}", text)
