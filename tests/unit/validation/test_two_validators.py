"""The author's validators see what the model wrote, in pydantic's own mode; nothing is read laxly in silence."""

import datetime
import json
import threading
import warnings
from typing import Annotated, Any, Literal, Union

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    OnErrorOmit,
    PydanticDeprecatedSince20,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    field_validator,
    model_validator,
    validator,
)
from pydantic.experimental.pipeline import validate_as

from toolshape import CallError, Registry, Result, tool


def or_else(default: Any) -> Any:
    def wrap(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError:
            return default

    return WrapValidator(wrap)


def answer(kind: Any, text: str) -> Result:
    def take(x: Any) -> Any:
        """Take it."""
        return x

    take.__annotations__ = {"x": kind}
    [result] = Registry([tool(take)]).dispatch({"name": "take", "arguments": f'{{"x": {text}}}'})
    return result


class Whole(BaseModel):
    n: int
    day: datetime.date

    @model_validator(mode="before")
    @classmethod
    def passes(cls, value: Any) -> Any:
        return value


class Wrapped(Whole):
    @model_validator(mode="wrap")
    @classmethod
    def wraps(cls, value: Any, handler: Any) -> Any:
        return handler(value)


class Range(BaseModel):
    low: int
    high: int

    @field_validator("high")
    @classmethod
    def above(cls, value: int, info: Any) -> int:
        if value < info.data["low"]:
            raise ValueError("high is below low")
        return value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Annotated[datetime.date, or_else(None)], '"2024-01-01"'),
        (Annotated[datetime.date, or_else(None)], '"x"'),
        (Whole, '{"n": 5, "day": "2024-01-01"}'),
        (Wrapped, '{"n": 5, "day": "2024-01-01"}'),
        (Range, '{"low": 1, "high": 5}'),
        (list[OnErrorOmit[int]], '[1, "2", "x"]'),
        (Union[int, Annotated[datetime.datetime, BeforeValidator(lambda value: value)]], "256.0"),
    ],
)  # fmt: skip
def test_the_function_gets_what_pydantic_makes_of_it(kind, text):
    result = answer(kind, text)
    assert result.ok
    assert repr(result.value) == repr(TypeAdapter(kind).validate_json(text))
    assert result.coercions == ()


@pytest.mark.parametrize("model", [Whole, Wrapped])
@pytest.mark.parametrize("wrong", ['"00125"', '"yes"', "true", "1.5"])
def test_what_is_passed_on_unchanged_is_not_read_laxly(model, wrong):
    result = answer(model, f'{{"n": {wrong}, "day": "2024-01-01"}}')
    assert not result.ok
    assert "x.n: expected integer" in str(result.error)


@pytest.mark.parametrize("model", [Whole, Wrapped])
def test_what_is_passed_on_unchanged_is_coerced_on_record(model):
    result = answer(model, '{"n": "5", "day": "2024-01-01"}')
    assert result.value.n == 5
    assert [(each.path, each.rule, each.after) for each in result.coercions] == [
        ("x.n", "number_text", 5)
    ]


def test_the_code_sees_a_number_as_it_was_written():
    result = answer(list[Annotated[int, BeforeValidator(str.strip)]], '["5", " 6 "]')
    assert result.value == [5, 6]
    assert [each.path for each in result.coercions] == ["x[0]"]


def test_one_text_that_no_rule_coerces_is_not_let_through_with_another():
    """The same text stands behind code twice: at a place that is strict, and at one that is not."""
    keep = BeforeValidator(lambda value: value)

    class Both(BaseModel):
        loose: Annotated[int, keep]
        strict: Annotated[int, Field(strict=True), keep]

    result = answer(Both, '{"loose": "5", "strict": "5"}')
    assert not result.ok
    assert "x.strict: expected integer" in str(result.error)


def test_a_crash_counts_only_where_the_structure_has_nothing_to_say():
    result = answer(Range, '{"low": "1", "high": 5}')
    assert (result.value.low, result.coercions[0].rule) == (1, "number_text")
    assert "x.low: expected integer" in str(answer(Range, '{"low": [], "high": 5}').error)


def test_the_code_runs_again_only_if_a_rule_changed_something():
    ran = []

    def note(value: Any) -> Any:
        ran.append(value)
        return value

    kind = tuple[Annotated[int, AfterValidator(note)], int]
    assert answer(kind, "[1, 2]").ok
    assert ran == [1]
    assert not answer(kind, '[1, "x"]').ok
    assert ran == [1, 1]
    assert answer(kind, '[1, "2"]').ok
    assert ran == [1, 1, 1, 1]


def test_the_code_runs_once_where_null_stands_for_a_default():
    """In strict form, what is left out is null; a call that is refused has run the author's code once, too."""
    ran = []

    def note(value: int) -> int:
        ran.append(value)
        if value > 1:
            raise ValueError("too many")
        return value

    @tool
    def take(number: Annotated[int, AfterValidator(note)], other: int = 3) -> None:
        """Take it."""

    bound = Registry([tool(take, strict=True)]).bind("openai")
    for arguments in ({"number": 1, "other": None}, {"number": 2, "other": None}):
        ran.clear()
        function = {"name": "take", "arguments": json.dumps(arguments)}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}  # fmt: skip
        bound.dispatch({"choices": [{"finish_reason": "tool_calls", "message": message}]})
        assert ran == [arguments["number"]]


def test_two_threads_do_not_see_each_others_texts():
    """What one call lets through as written is not let through in another."""
    kind = Annotated[int, BeforeValidator(lambda value: value)]
    outcomes: list[bool] = []

    def run(coerce: bool) -> None:
        def take(x: Any) -> Any:
            """Take it."""
            return x

        take.__annotations__ = {"x": kind}
        tools = Registry([tool(take, coerce={"number_text": coerce})])
        for _ in range(100):
            [result] = tools.dispatch({"name": "take", "arguments": '{"x": "5"}'})
            outcomes.append(result.ok is coerce)

    threads = [threading.Thread(target=run, args=(coerce,)) for coerce in (True, False) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 400
    assert all(outcomes)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        (Annotated[Union[int, float], Field(gt=0, le=500)], "900", "<= 500, got 900"),
        (Annotated[datetime.date, Field(ge=datetime.date(2024, 1, 1))], '"2023-01-01"', ">= 2024-01-01"),
        (Annotated[datetime.timedelta, Field(le=datetime.timedelta(hours=1))], '"PT2H"', "<= 1 hour"),
        (Annotated[str, AfterValidator(lambda value: value), Field(pattern="^a")], '"zz"', "that matches ^a"),
        (Annotated[Union[int, str], Field(min_length=2)], '"a"', "string of at least 2 characters"),
        (Annotated[Literal["a", "b"], BeforeValidator(str.lower)], '"C"', 'one of "a", "b"'),
        (datetime.timedelta, '"1 hour"', "duration (ISO 8601)"),
        (complex, '"x"', "complex number (1+2j)"),
        (Annotated[list[int], Field(min_length=2, max_length=3)], "[1]", "array of 2 to 3 items, got [1]"),
        (Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)], '" a "', "without the blanks"),
    ],
)  # fmt: skip
def test_the_feedback_names_what_broke(kind, text, told):
    assert told in str(answer(kind, text).error)


def test_a_class_that_is_strict_is_never_coerced():
    class Pay(BaseModel):
        model_config = ConfigDict(strict=True)
        cents: int

    assert not answer(Pay, '{"cents": "5"}').ok
    with pytest.raises(CallError):
        raise answer(Pay, '{"cents": 5.0}').error or AssertionError


class Piped(BaseModel):
    number: Annotated[int, validate_as(str).transform(str.strip).validate_as(int)]
    day: Annotated[datetime.date, validate_as(str).validate_as(datetime.date)]


def test_each_step_of_a_chain_but_the_first_is_given_what_the_step_before_made():
    result = answer(Piped, '{"number": " 1 ", "day": "2024-01-01"}')
    assert result.value == Piped(number=" 1 ", day="2024-01-01")  # type: ignore[arg-type]
    assert (
        answer(Piped, '{"number": 1, "day": "2024-01-01"}').coercions[0].rule == "text_from_integer"
    )
    assert not answer(Piped, '{"number": "x", "day": "2024-01-01"}').ok


def test_validators_in_the_style_of_version_1():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PydanticDeprecatedSince20)

        class Old(BaseModel):
            day: datetime.date

            @validator("day", pre=True)
            def passes(cls, value: Any) -> Any:  # noqa: N805 - pydantic passes the class
                return value

    assert answer(Old, '{"day": "2024-01-01"}').value.day == datetime.date(2024, 1, 1)
    assert not answer(Old, '{"day": "20240101"}').ok


def test_a_key_that_is_left_out():
    assert answer(dict[OnErrorOmit[int], int], '{"a": 1, "3": 4}').value == {3: 4}
