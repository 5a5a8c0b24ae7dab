"""The options of ``@tool``, and which values are invalid."""

import inspect
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias, TypedDict, cast, get_args

from toolshape._records.calls import Effect, Grammar, JsonObject, Namespace, Strictness
from toolshape._records.errors import DefinitionError, Problem, did_you_mean
from toolshape._validation.coercion import choose_rules

Approve: TypeAlias = Callable[[JsonObject], bool] | Callable[[JsonObject, Mapping[str, Any]], bool]
"""A function that returns whether a call needs approval.

It takes the call's arguments as a dict of JSON values. If it has a second parameter, it also takes
the injected values.
"""


class ToolOptions(TypedDict, total=False):
    """The keyword arguments of ``tool``; the docstring of ``tool`` describes them."""

    name: str | None
    title: str | None
    description: str | None
    strict: Strictness | None
    coerce: Mapping[str, bool] | bool | None
    timeout: float | None
    limit: int | None
    validate_result: bool | None
    longest_result: int | None
    untrusted: bool
    tags: Collection[str]
    effects: Collection[Effect]
    approve: bool | Approve
    deferred: bool | Namespace
    free_text: bool | Grammar
    examples: Sequence[JsonObject]
    providers: Mapping[str, JsonObject]


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_strictness(value: Any) -> bool:
    return value is None or value is True or value is False or value == "auto"


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _are_texts(value: Any) -> bool:
    return isinstance(value, (str, list, tuple, set, frozenset)) and all(
        isinstance(text, str) for text in value
    )


def _are_examples(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(example, dict) for example in value
    ):
        return False
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _are_keys(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(keys, Mapping) for keys in value.values())


def _is_flag_or(kind: type[Namespace] | type[Grammar], value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, kind) and value.is_right)


def _is_decision(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    return callable(value) and not any(
        inspect.iscoroutinefunction(function)
        for function in (value, getattr(value, "__call__", None))  # noqa: B004 - checks the method, not callability
    )


class ValueCheck(NamedTuple):
    """Which values an option may have: a check, and the words for what it refuses."""

    admits: Callable[[Any], bool]
    words: str


_TEXT = ValueCheck(_is_text, "must be a string")
_FLAG = ValueCheck(lambda value: isinstance(value, bool), "must be True or False")
_TEXTS = ValueCheck(_are_texts, "must be a list of strings")


class Options(NamedTuple):
    """The options of one tool, without the function: how each is kept, its default, and which
    values it may have.

    What is not checked here is checked with the tool's name at hand; see
    ``refuse_invalid_options``.
    """

    name: str | None = None
    title: Annotated[str | None, _TEXT] = None
    description: Annotated[str | None, _TEXT] = None
    strict: Annotated[
        Strictness | None, ValueCheck(_is_strictness, 'must be True, False or "auto"')
    ] = None
    coerce: Mapping[str, bool] | bool | None = None
    timeout: float | None = None
    limit: Annotated[int | None, ValueCheck(_is_count, "must be a positive number of calls")] = None
    validate_result: Annotated[
        bool | None,
        ValueCheck(lambda value: value is None or isinstance(value, bool), "must be True or False"),
    ] = None
    longest_result: Annotated[
        int | None, ValueCheck(_is_count, "must be a positive number of characters")
    ] = None
    untrusted: Annotated[bool, _FLAG] = False
    tags: Annotated[frozenset[str], _TEXTS] = frozenset()
    effects: Annotated[frozenset[Effect], _TEXTS] = frozenset()
    approve: Annotated[
        bool | Approve,
        ValueCheck(
            _is_decision,
            "must be True, False, or a function that takes the arguments (and the injected values) "
            "and is not async",
        ),
    ] = False
    deferred: Annotated[
        bool | Namespace,
        ValueCheck(
            lambda value: _is_flag_or(Namespace, value),
            "must be True, False, or a Namespace with a name (1 to 64 of a-z A-Z 0-9 _ -) and a "
            "description",
        ),
    ] = False
    free_text: Annotated[
        bool | Grammar,
        ValueCheck(
            lambda value: _is_flag_or(Grammar, value),
            'must be True, False, or a Grammar with a syntax ("lark" or "regex") and a definition',
        ),
    ] = False
    examples: Annotated[
        tuple[JsonObject, ...], ValueCheck(_are_examples, "must be a list of JSON objects")
    ] = ()
    providers: Annotated[
        Mapping[str, JsonObject], ValueCheck(_are_keys, "must map provider names to objects")
    ] = {}
    verbatim: bool = False


_KINDS: Mapping[Any, ValueCheck] = {
    name: hint.__metadata__[0]
    for name, hint in Options.__annotations__.items()
    if isinstance(getattr(hint, "__metadata__", (None,))[0], ValueCheck)
}


def parse_options(given: ToolOptions) -> Options:
    """Return the options as a record, with copies of the collections.

    Raises:
        DefinitionError: An option has a value of the wrong kind.
        TypeError: There is no such option.
    """
    values = cast("dict[str, Any]", given)
    if unknown_names := given.keys() - set(Options._fields[:-1]):
        raise TypeError(f"tool() got an unexpected keyword argument {min(unknown_names)!r}")
    problems = [
        Problem(path=name, rule="option", message=f"{kind.words}, not {values[name]!r}"[:200])
        for name, kind in _KINDS.items()
        if name in values and not kind.admits(values[name])
    ]
    if problems:
        raise DefinitionError(
            tool=str(given.get("name") or "a tool"), location="its options", problems=problems
        )
    options = Options(**cast("Any", given))
    return options._replace(
        tags=labels(options.tags),
        effects=cast("frozenset[Effect]", labels(options.effects)),
        examples=tuple(options.examples),
        providers=dict(options.providers),
    )


def refuse_invalid_options(options: Options, name: str, location: str) -> None:
    """Check the options of a tool.

    Raises:
        DefinitionError: An option is invalid; the error lists all problems.
    """
    if problems := list(_find_problems(options)):
        raise DefinitionError(tool=name, location=location, problems=problems)


_EFFECTS = get_args(Effect)


def _find_problems(options: Options) -> Iterator[Problem]:
    # Every problem is yielded, not only the first: an author mends all of them in one go. The names
    # of providers are asked last, because they load the room of providers.
    try:
        choose_rules(options.coerce)
    except ValueError as error:
        yield Problem(path="coerce", rule="option", message=str(error))
    name: Any = options.name
    timeout: Any = options.timeout
    if name is not None and not (isinstance(name, str) and name):
        yield Problem(path="name", rule="option", message="must be a non-empty string")
    is_seconds = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0
    if timeout is not None and not is_seconds:
        yield Problem(path="timeout", rule="option", message="must be a number of seconds above 0")
    for effect in sorted(options.effects - set(_EFFECTS)):
        yield Problem(
            path="effects",
            rule="option",
            message=f"unknown effect {effect!r}; the effects are {', '.join(_EFFECTS)}",
            hint=did_you_mean(effect, _EFFECTS),
        )
    if {"open_world", "closed_world"} <= options.effects:
        yield Problem(
            path="effects",
            rule="option",
            message='"open_world" excludes "closed_world": leave one out',
        )
    if "read" in options.effects and options.effects & {"write", "destructive"}:
        yield Problem(
            path="effects",
            rule="option",
            message='"read" excludes "write" and "destructive": leave one out',
        )
    if options.providers:
        from toolshape._families import names  # noqa: PLC0415 - few tools have options for one provider

        provider_names = names.available()
        for name in options.providers:
            if name not in provider_names:
                yield Problem(
                    path="providers",
                    rule="option",
                    message=f"no provider {name!r}",
                    hint=did_you_mean(name, provider_names),
                )


def changed_options(options: Options) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {
        key: value
        for key, value in options._asdict().items()
        if value != Options._field_defaults[key]
    }


def labels(tags: Collection[str]) -> frozenset[Any]:
    """Return tags as a set; a single string is one tag."""
    return frozenset((tags,) if isinstance(tags, str) else tags)
