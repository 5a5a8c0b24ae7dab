"""What a model wrote: taken as it is, coerced by a named rule on record, or refused with the place."""

import dataclasses
import datetime
import decimal
import difflib
import enum
import fractions
from typing import Annotated, Any, Literal

import pydantic
import pytest
from jsonschema import Draft202012Validator
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from zoo import Cat, Colour, Dog, Filter, Level, Line, Open, Order, Pair, Pet, Point, Tree

from toolshape import CallError, Coercion, DefinitionError, Registry, tool
from toolshape._records.errors import nearest
from toolshape._tools.tool import record_of
from toolshape._validation.coercion import RULES, choose_rules

LONG = "x" * 500


def coerced(
    annotation: Any, written: Any, default: Any = ..., **options: Any
) -> tuple[Any, list[tuple[str, str]]]:
    """The value that a parameter ``x`` gets, and the rules that coerced it; or the problems."""
    registry = Registry([taking(annotation, default, **options)])
    [result] = registry.dispatch({"name": "take", "arguments": {"x": written}})
    if result.error:
        return result.error.code, [
            (problem.path, problem.rule) for problem in result.error.problems
        ]
    return result.value, [(coercion.path, coercion.rule) for coercion in result.coercions]


def taking(annotation: Any, default: Any = ..., **options: Any):
    if default is ...:

        def take(x):
            return x
    else:

        def take(x=default):
            return x

    take.__annotations__["x"] = annotation
    return tool(name="take", **options)(take)


class Inner(BaseModel):
    n: int = 3
    flag: bool = False


class Exact(BaseModel):
    n: int = Field(strict=True)


MENDED = [
    (int, "5", 5, "number_text"),
    (int, "-5", -5, "number_text"),
    (float, "5", 5.0, "number_text"),
    (float, "5.25", 5.25, "number_text"),
    (float, "-1e3", -1000.0, "number_text"),
    (Level, "2", Level.HIGH, "number_text"),
    (Literal[1, 2], "2", 2, "number_text"),
    (str, 45128, "45128", "text_from_integer"),
    (str | None, 45128, "45128", "text_from_integer"),
    (int, 3.0, 3, "integral_float"),
    (Colour, "RED", Colour.RED, "enum_case"),
    (Literal["Yes", "No"], "yes", "Yes", "enum_case"),
    (int | None, "null", None, "null_text"),
    (int | None, "None", None, "null_text"),
    (list[int], "[1, 2]", [1, 2], "json_text"),
    (tuple[int, str], '[1, "a"]', (1, "a"), "json_text"),
    (set[int], "[1]", {1}, "json_text"),
    (dict[str, int], '{"a": 1}', {"a": 1}, "json_text"),
    (Line, '{"sku": "a"}', Line(sku="a"), "json_text"),
    (Point, '{"lat": 1.0}', Point(1.0), "json_text"),
    (Filter, '{"region": "eu"}', {"region": "eu"}, "json_text"),
    (Pair, '[1, "a"]', Pair(1, "a"), "json_text"),
]


@pytest.mark.parametrize(("annotation", "written", "value", "rule"), MENDED)
def test_coerced_on_record(annotation, written, value, rule):
    """Each default rule, at a simple place; and none of it when the rule is off."""
    assert coerced(annotation, written) == (value, [("x", rule)])
    assert coerced(annotation, written, coerce={rule: False}) == (
        "invalid_arguments",
        [("x", coerced(annotation, written, coerce=False)[1][0][1])],
    )


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (int, "00125"), (int, "+5"), (int, "5 "), (int, "5.0"), (int, "1e3"), (int, "٣"), (int, ""), (int, True),
        (int, 3.5),
        (float, "1,5"), (float, "NaN"), (float, ".5"), (float, True), (float, "0x1p3"),
        (str, 12.5), (str, True), (str, None), (str, ["a"]), (str, {"a": 1}),
        (bool, "true"), (bool, 1), (bool, 0), (bool, "yes"),
        (Colour, "blue"), (Level, "3"), (Literal["a", "A"], "ä"), (int, "null"), (int, None),
        (list[int], "1, 2"), (list[int], '{"a": 1}'), (list[int], 5), (list[int], "5"), (dict[str, int], "[1]"),
        (Line, "[]"), (Line, "sku"), (list[str], "a"), (int, 1e300),
    ],
)  # fmt: skip
def test_refused(annotation, written):
    """What would need a guess is refused, naming the place."""
    code, problems = coerced(annotation, written)
    assert (code, [path for path, _ in problems]) == ("invalid_arguments", ["x"])


def test_two_options_alike_but_for_case_are_not_guessed():
    """``enum_case`` needs one match."""
    assert coerced(Literal["a", "A", "b"], "a") == ("a", [])
    assert coerced(Literal["ab", "AB", "b"], "Ab")[0] == "invalid_arguments"


def test_null_means_the_default_where_null_is_not_admitted():
    """At the parameter, and in fields of models, dataclasses and TypedDicts."""
    assert coerced(int, None, 7) == (7, [("x", "null_as_default")])
    assert coerced(int | None, None, 7) == (None, [])
    assert coerced(Inner, {"n": None, "flag": True}) == (
        Inner(n=3, flag=True),
        [("x.n", "null_as_default")],
    )
    assert coerced(Point, {"lat": 1.0, "lon": None}) == (
        Point(1.0, 0.0),
        [("x.lon", "null_as_default")],
    )
    assert coerced(int, None, 7, coerce={"null_as_default": False})[0] == "invalid_arguments"


def test_deep_places():
    """Lists, maps, tuples, recursion, and text in text in text."""
    order = {"customer": 5, "lines": '[{"sku": 7, "qty": "2"}, {"sku": "b", "qty": 1.0}]'}
    value, rules = coerced(Order, order)
    assert value == Order(customer="5", lines=[Line(sku="7", qty=2), Line(sku="b", qty=1)])
    assert rules == [
        ("x.customer", "text_from_integer"),
        ("x.lines", "json_text"),
        ("x.lines[0].sku", "text_from_integer"),
        ("x.lines[0].qty", "number_text"),
        ("x.lines[1].qty", "integral_float"),
    ]
    assert coerced(Tree, {"name": "a", "children": [{"name": 1}]})[1] == [
        ("x.children[0].name", "text_from_integer")
    ]
    assert coerced(dict[str, tuple[int, str]], {"k": ["1", 2]})[1] == [
        ("x.k[0]", "number_text"),
        ("x.k[1]", "text_from_integer"),
    ]
    assert coerced(tuple[int, ...], [1, "2"]) == ((1, 2), [("x[1]", "number_text")])
    assert coerced(dict[str, int], {"a": "1"})[1] == [("x.a", "number_text")]


def test_the_record_is_what_was_made_of_it_then():
    """What is coerced further on does not change what stands there."""
    take = taking(dict[str, list[int]], coerce={"repair_json": True, "json_text": True})
    _, coercions = record_of(take).validate("{x: {'a': '[\"1\"]'},}")
    assert coercions == (
        Coercion("", "repair_json", "{x: {'a': '[\"1\"]'},}", {"x": {"a": '["1"]'}}),
        Coercion("x.a", "json_text", '["1"]', ["1"]),
        Coercion("x.a[0]", "number_text", "1", 1),
    )


def test_a_place_declared_strict_is_never_coerced():
    """By the author's word, wherever it stands."""
    assert coerced(Annotated[int, Field(strict=True)], "5")[0] == "invalid_arguments"
    assert coerced(Exact, {"n": "5"})[0] == "invalid_arguments"
    assert coerced(Exact, {"n": 5}) == (Exact(n=5), [])


def test_a_lax_place_takes_what_reads_back_the_same():
    """Behind the author's own before-validator pydantic asks for Python types: the JSON form is right all the same."""
    day = Annotated[datetime.date, BeforeValidator(lambda value: value)]
    assert coerced(day, "2026-01-02") == (datetime.date(2026, 1, 2), [])
    assert coerced(day, "2026-01-02T00:00:00")[0] == "invalid_arguments"
    assert coerced(Annotated[int, Field(strict=False)], "5") == (5, [("x", "number_text")])
    assert coerced(Annotated[bool, Field(strict=False)], "yes")[0] == "invalid_arguments"


@pytest.mark.parametrize(
    ("annotation", "written", "value", "rules"),
    [
        (int | bool, "5", 5, [("x", "number_text")]),
        (int | float, "5", 5, [("x", "number_text")]),
        (int | float, "5.5", 5.5, [("x", "number_text")]),
        (int | str, "5", "5", []),
        (int | list[int], "[1, 2]", [1, 2], [("x", "json_text")]),
        (list[int] | dict[str, int], '{"a": "1"}', {"a": 1}, [("x", "json_text"), ("x.a", "number_text")]),
        (list[int | bool], [True, "5"], [True, 5], [("x[1]", "number_text")]),
        (int | list[int] | None, "null", None, [("x", "null_text")]),
        (Cat | Dog, {"kind": "Dog", "tricks": '["sit"]'}, Dog(kind="dog", tricks=["sit"]),
         [("x.kind", "enum_case"), ("x.tricks", "json_text")]),
        (Pet, {"kind": "cat", "lives": "9"}, Cat(kind="cat", lives=9), [("x.lives", "number_text")]),
        (Pet, {"kind": "CAT", "lives": "9"}, Cat(kind="cat", lives=9),
         [("x.kind", "enum_case"), ("x.lives", "number_text")]),
        (Pet, '{"kind": "cat", "lives": 9}', Cat(kind="cat", lives=9), [("x", "json_text")]),
        (dict[str, Pet], {"a": {"kind": "cat", "lives": 9.0}}, {"a": Cat(kind="cat", lives=9)},
         [("x.a.lives", "integral_float")]),
        (dict[str, int | list[int]], {"a": ["1"]}, {"a": [1]}, [("x.a[0]", "number_text")]),
        (list[Line | Point], [{"sku": 7}, {"lat": "1.5"}], [Line(sku="7"), Point(1.5)],
         [("x[0].sku", "text_from_integer"), ("x[1].lat", "number_text")]),
    ],
)  # fmt: skip
def test_unions_are_coerced_where_one_branch_takes_it(annotation, written, value, rules):
    """Each branch is tried by itself; where two make different things of it, it is left alone."""
    assert coerced(annotation, written) == (value, rules)


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (Literal[1, 2, "a", "B"], "A "),
        (int | bool, "true"),
        (dict[str, int] | list[int], "5"),
        (Literal["a", "A"] | int, "å"),
        (list[Literal["on"]] | list[Literal["ON"]], ["On"]),
        (Cat | Dog, {"kind": "fish"}),
        (Pet, {"kind": "fish", "lives": 9}),
    ],
)
def test_unions_without_one_answer_are_refused(annotation, written):
    """No branch takes it, or two do, each otherwise."""
    assert coerced(annotation, written)[0] == "invalid_arguments"


class Config(BaseModel):
    model_config = ConfigDict(extra="ignore")

    n: int = 1


@dataclasses.dataclass
class Mixed:
    closed: Line
    open: Open
    ignoring: Config | None = None


@pytest.mark.parametrize(
    ("annotation", "written", "path"),
    [
        (Line, {"sku": "a", "qyt": 1}, "x.qyt"),
        (list[Point], [{"lat": 1.0, "lno": 1}], "x[0].lno"),
        (Filter, {"region": "eu", "limti": 1}, "x.limti"),
        (
            Mixed,
            {"closed": {"sku": "a", "more": 1}, "open": {"name": "n", "more": 1}},
            "x.closed.more",
        ),
        (Mixed, {"closed": {"sku": "a"}, "open": {"name": "n"}, "more": 1}, "x.more"),
        (list[Mixed | Line], [{"sku": "a", "more": 1}], "x[0].more"),
    ],
)
def test_nested_models_are_closed(annotation, written, path):
    """An unknown field is refused wherever the model itself does not say otherwise."""
    code, problems = coerced(annotation, written)
    assert (code, problems) == ("invalid_arguments", [(path, "extra_forbidden")])


def test_models_that_say_so_stay_open():
    """``extra`` of a model's own is kept, beside closed ones too."""
    value, rules = coerced(
        Mixed,
        {"closed": {"sku": "a"}, "open": {"name": "n", "more": 1}, "ignoring": {"n": 2, "z": 0}},
    )
    assert (value.open.more, value.ignoring.n, rules) == (1, 2, [])
    assert coerced(Open, {"name": "n", "more": 1})[0].more == 1


@pytest.mark.parametrize("payload", ["", "  ", "null", None, b"", '""', '"null"'])
def test_no_arguments(payload):
    """However a call without arguments arrives."""

    @tool
    def ping(n: int = 1) -> int:
        return n

    assert ping.call(payload) == 1
    with pytest.raises(CallError):
        tool(coerce={"empty_as_no_arguments": False})(ping).call(payload)


def test_arguments_encoded_twice():
    """The whole payload as a JSON string."""
    take = taking(int)
    assert take.call('"{\\"x\\": 5}"') == 5
    with pytest.raises(CallError, match="not a JSON object"):
        tool(name="take", coerce={"json_text": False})(take).call('"{\\"x\\": 5}"')


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ('{"x": 5', "truncated_arguments"),
        ('{"x": "a', "truncated_arguments"),
        ("{", "truncated_arguments"),
        ('{"x": 5}}', "malformed_arguments"),
        ('{}""', "malformed_arguments"),
        ("{'x': 5}", "malformed_arguments"),
        ("[]", "malformed_arguments"),
        ("5", "malformed_arguments"),
        ("hello", "malformed_arguments"),
        ('"hello"', "malformed_arguments"),
        (b"\xff\xfe", "malformed_arguments"),
        ("\ud800", "malformed_arguments"),
        ([1], "malformed_arguments"),
        ({1: 2}, "invalid_arguments"),
    ],
)
def test_payloads_that_are_no_object(payload, code):
    """Truncated and malformed arguments have codes of their own, and neither runs anything."""
    with pytest.raises(CallError) as caught:
        taking(int).call(payload)
    assert caught.value.code == code
    assert caught.value.retryable
    assert str(caught.value)


def test_what_the_model_reads():
    """Short, a line a problem, expected and got, did-you-mean; nothing of pydantic in it."""

    @tool
    def place(
        order: Order, colour: Colour, n: Annotated[int, Field(ge=1)], note: str = ""
    ) -> None: ...

    with pytest.raises(CallError) as caught:
        place.call(
            {
                "order": {"customer": "a", "lines": [{"qty": 1}], "expres": True},
                "colour": LONG,
                "n": 0,
                "not": "a",
            }
        )
    assert str(caught.value).splitlines() == [
        "The arguments of place are invalid, nothing was run:",
        "order.lines[0].sku: required, but missing",
        'order.expres: unknown field (did you mean "express"?)',
        f'colour: expected one of "red", "green", got "{"x" * 59}…',
        "n: expected integer >= 1, got 0",
        'not: unknown field (did you mean "note"?)',
    ]


def test_a_union_says_all_its_branches_once():
    """Not one line a branch, and no name of a branch, which no model ever saw."""
    with pytest.raises(CallError) as caught:
        taking(int | list[str]).call({"x": {"a": 1}})
    assert str(caught.value).splitlines()[1:] == ['x: expected integer or array, got {"a": 1}']


def test_only_what_is_left_is_told():
    """A coercion is not reported to the model."""

    @tool
    def ticket(order_id: str, urgent: bool = False) -> None: ...

    with pytest.raises(CallError) as caught:
        ticket.call({"order_id": 45128, "urgent": "true"})
    assert [problem.path for problem in caught.value.problems] == ["urgent"]


def test_validators_of_the_author():
    """A ValueError is written for the caller; anything else is a crash, hidden."""

    def check(value: int) -> int:
        if value < 0:
            raise ValueError("must not be negative")
        return 1 // value

    registry = Registry([taking(Annotated[int, AfterValidator(check)])])
    [result] = registry.dispatch({"name": "take", "arguments": {"x": -1}})
    assert result.text.endswith("x: must not be negative")
    [result] = registry.dispatch({"name": "take", "arguments": {"x": 0}})
    assert (result.error.code, isinstance(result.error.__cause__, ZeroDivisionError)) == (
        "tool_crashed",
        True,
    )


def test_rules_are_chosen_by_registry_and_tool():
    """The tool has the last word; a rule that does not exist is an error."""
    assert choose_rules() == {rule for rule, on in RULES.items() if on}
    assert choose_rules(False) == frozenset()
    assert choose_rules(False, {"json_text": True}) == {"json_text"}
    assert choose_rules({"json_text": False}, True) == choose_rules()
    with pytest.raises(ValueError, match='did you mean "json_text"'):
        Registry(coerce={"json_txt": True})
    with pytest.raises(DefinitionError, match=r"coerce: .* did you mean \"json_text\""):
        tool(coerce={"json_txt": True})(lambda: None)
    take = taking(int, coerce={"number_text": True})
    [result] = Registry([take], coerce=False).dispatch({"name": "take", "arguments": {"x": "5"}})
    assert result.coercions == (Coercion("x", "number_text", "5", 5),)


class Shade(str, enum.Enum):
    DARK = "Dark"


def test_enums_of_text():
    """A member arrives, not its value."""
    assert coerced(Shade, "dark") == (Shade.DARK, [("x", "enum_case")])


def test_a_name_in_capitals_is_known():
    """A field and a tool are named in the error, whatever the case of what was sent."""

    @tool
    def travel(destination: str) -> str:
        return destination

    with pytest.raises(CallError, match='did you mean "destination"'):
        travel.call({"DESTINATION": "x"})
    [result] = Registry([travel]).dispatch({"name": "TRAVEL", "arguments": {}})
    assert 'Did you mean "travel"?' in result.text


@pytest.mark.parametrize(
    "written", ["1_000", "1__0", "_1", "٣", "5 ", " 5", "+5", "05", ".5", "5.", "Infinity", "nan"]
)
def test_a_decimal_is_written_as_json_writes_numbers(written):
    """Python's own reader takes underscores, blanks and the digits of other alphabets, which no schema admits."""
    made = taking(decimal.Decimal)
    assert not Draft202012Validator(made.input_schema).is_valid({"x": written})
    assert coerced(decimal.Decimal, written)[0] == "invalid_arguments"
    assert coerced(decimal.Decimal, "-1.50e+2") == (decimal.Decimal(-150), [])


@pytest.mark.parametrize(
    ("annotation", "right", "wrong"),
    [
        (fractions.Fraction, "1/3", [" 1/3", "1_0/3", "1/0", "1e999999999"]),
        (complex, "1+2j", [1.5, "1_0j", " 1j", "٣j", "1e999"]),
        (pydantic.IPvAnyAddress, "127.0.0.1", [True, 0, 2130706433]),
        (pydantic.IPvAnyNetwork, "10.0.0.0/8", [True, 0, 2130706433]),
        (pydantic.IPvAnyInterface, "10.0.0.1/8", [True, 0, 2130706433]),
        (pydantic.ImportString, "math.cos", [1.5, True]),
        (pydantic.Base64Bytes, "aGk=", ["aG k=", "aGk=\n", "_-8=", "aGk"]),
        (pydantic.Base64UrlStr, "aGk=", ["/+8=", "*"]),
        (Pair, [1, "a"], [{"a": 1, "b": "x"}]),
    ],
)
def test_a_type_takes_what_its_schema_says(annotation, right, wrong):
    """Whatever else pydantic makes a value of."""
    assert coerced(annotation, right)[1] == []
    for written in wrong:
        assert coerced(annotation, written)[0] == "invalid_arguments", written


def test_a_number_is_not_taken_for_bytes():
    """Its text would be: the number is the Decimal's."""
    assert coerced(bytes | decimal.Decimal, 1.5) == (decimal.Decimal("1.5"), [])
    assert coerced(bytes | decimal.Decimal, "a") == (b"a", [])


@pytest.mark.parametrize(
    "annotation", [int, float, decimal.Decimal, str, Any, bool, Literal[1, 2], list[int], Line]
)
@pytest.mark.parametrize("number", ["1e999999999999999999999", "1e-999999999999999999999"])
def test_an_exponent_that_no_decimal_has_is_the_models_fault(annotation, number):
    """It says so, and not that something failed inside."""
    [result] = Registry([taking(annotation)]).dispatch(
        {"name": "take", "arguments": f'{{"x": {number}}}'}
    )
    assert result.ok or result.error.code == "invalid_arguments"


@pytest.mark.parametrize(
    "annotation", [pydantic.FilePath, pydantic.DirectoryPath, pydantic.NewPath]
)
@pytest.mark.parametrize("path", ["a" * 5000, "/" + "a/" * 3000])
def test_what_the_system_says_of_a_path_is_a_refusal(annotation, path):
    """The check that pydantic makes raises an OSError."""
    assert coerced(annotation, path)[0] == "invalid_arguments"


def test_the_error_of_an_authors_validator_stays_the_tools():
    """Only what pydantic brings is known to fail because of the value."""
    assert (
        coerced(Annotated[int, AfterValidator(lambda value: 1 // (value - value))], 5)[0]
        == "tool_crashed"
    )


@pytest.mark.filterwarnings("ignore")  # pydantic says that the default has no effect
@pytest.mark.parametrize(
    "annotation",
    [list[Annotated[int, Field(default=5)]], dict[str, Annotated[int, Field(default=5)]]],
)
def test_an_item_is_never_left_out(annotation):
    """A field may be; a list would be shorter, and a map would lose a key."""
    written = [1, None] if annotation.__origin__ is list else {"a": 1, "b": None}
    assert coerced(annotation, written)[0] == "invalid_arguments"


class ByPath(BaseModel):
    y: int = Field(0, validation_alias=pydantic.AliasPath("a", "b"))
    z: int = Field(0, validation_alias=pydantic.AliasPath("a", "c"))


class ByIndex(BaseModel):
    y: int = Field(0, validation_alias=pydantic.AliasPath("a", 1))


def test_nothing_is_dropped_beside_what_an_alias_path_leads_to():
    """A misspelt name there, or a further item, is refused as everywhere else."""
    assert coerced(ByPath, {"a": {"b": 5, "c": 6}}) == (ByPath(a={"b": 5, "c": 6}), [])
    assert coerced(ByPath, {"a": {"b": 5, "misspelt": 1}}) == (
        "invalid_arguments",
        [("x", "inexact_json")],
    )
    assert coerced(ByIndex, {"a": [0, 1]})[0] == ByIndex(a=[0, 1])
    assert coerced(ByIndex, {"a": [0, 1, 2]}) == ("invalid_arguments", [("x", "inexact_json")])


class Signal(enum.Enum):
    RED = "red"
    STOP = "red"  # noqa: PIE796 - an alias
    GO = "go"


def test_an_alias_of_an_enum_is_no_choice_of_its_own():
    """Neither in the schema, nor in feedback, nor for a text in another case."""
    made = taking(Signal)
    assert made.input_schema["$defs"]["Signal"]["enum"] == ["red", "go"]
    assert coerced(Signal, "RED") == (Signal.RED, [("x", "enum_case")])
    [result] = Registry([made]).dispatch({"name": "take", "arguments": {"x": "zz"}})
    assert result.text.splitlines()[-1] == 'x: expected one of "red", "go", got "zz"'


def test_null_as_default_is_recorded_with_what_the_function_got():
    """At a parameter, and in a model; where a function makes the default, it is not known."""

    def take(
        n: int = 3, when: datetime.date = datetime.date(2026, 1, 1), inner: Inner | None = None
    ) -> str:
        return str(n)

    arguments = {"n": None, "when": None, "inner": {"n": None, "flag": True}}
    [result] = Registry([tool(take)]).dispatch({"name": "take", "arguments": arguments})
    assert [(coercion.path, coercion.after) for coercion in result.coercions] == [
        ("n", 3),
        ("when", "2026-01-01"),
        ("inner.n", 3),
    ]


def test_many_unknown_fields_among_many_names():
    """Each hint looks at names that share pieces with it, and not at all of them."""
    made = taking(
        pydantic.create_model("Many", **{f"field_number_{at}": (int, 0) for at in range(1_000)})
    )
    wrong = {f"feild_number_{at}": 1 for at in range(60)}
    [result] = Registry([made]).dispatch({"name": "take", "arguments": {"x": wrong}})
    assert (
        result.text.splitlines()[1]
        == 'x.feild_number_0: unknown field (did you mean "field_number_0"?)'
    )
    compared = []
    names = [f"field_number_{at}" for at in range(1_000)]
    matcher = difflib.SequenceMatcher.set_seq1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            difflib.SequenceMatcher,
            "set_seq1",
            lambda self, value: (compared.append(value), matcher(self, value))[1],
        )
        assert nearest("feild_number_7", names) == "field_number_7"
    assert len(compared) <= 60
