"""What a model checks beyond its schema is in the contract: each change is judged by calls that were accepted before."""

import datetime
import functools
import json
import time
from collections import Counter
from decimal import Decimal
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given, settings, strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from toolshape import Grammar, Output, Registry, UsageError, tool
from toolshape.contract import diff, diff_contracts, dump_lock, load_lock, make_contract

DAY = datetime.date(2024, 1, 1)
MOMENT = datetime.datetime(2024, 1, 1)  # noqa: DTZ001 - a bound without a zone
HOUR = datetime.time(12)
SPAN = datetime.timedelta(days=2)


def even(value: Any) -> Any:
    """Refuse odd numbers, and short texts."""
    if (isinstance(value, int) and value % 2) or (isinstance(value, str) and len(value) < 2):
        raise ValueError("odd, or short")
    return value


def any_value(value: Any) -> Any:
    return value


TYPES: dict[str, list[Any]] = {
    "int": [int, Annotated[int, Field(strict=True)], Annotated[int, AfterValidator(even)], Annotated[int, Field(ge=3)]],
    "float": [float, Annotated[float, Field(strict=True)], Annotated[float, Field(le=2)]],
    "bool": [bool, Annotated[bool, Field(strict=True)]],
    "str": [str, Annotated[str, Field(strict=True)], Annotated[str, AfterValidator(even)], Annotated[str, Field(max_length=3)]],
    "ints": [list[int], Annotated[list[int], Field(strict=True)], list[Annotated[int, Field(strict=True)]]],
    "date": [
        datetime.date, Annotated[datetime.date, Field(ge=DAY)], Annotated[datetime.date, Field(gt=DAY)],
        Annotated[datetime.date, Field(le=DAY)], pydantic.PastDate, pydantic.FutureDate,
    ],
    "datetime": [
        datetime.datetime, Annotated[datetime.datetime, Field(ge=MOMENT)], pydantic.AwareDatetime, pydantic.NaiveDatetime,
        pydantic.PastDatetime,
    ],
    "time": [datetime.time, Annotated[datetime.time, Field(ge=HOUR)], Annotated[datetime.time, Field(lt=HOUR)]],
    "duration": [datetime.timedelta, Annotated[datetime.timedelta, Field(ge=SPAN)], Annotated[datetime.timedelta, Field(le=SPAN)]],
    "decimal": [
        Decimal, Annotated[Decimal, Field(ge=2)], Annotated[Decimal, Field(max_digits=3)],
        Annotated[Decimal, Field(decimal_places=1)],
    ],
    "url": [pydantic.AnyUrl, pydantic.HttpUrl, Annotated[pydantic.AnyUrl, Field(max_length=30)]],
}  # fmt: skip
VALUES = [
    "5", "4", 5, 4, 3, 2, 0, 5.0, "1.5", 1.5, 2.5, True, "true", "", "a", "ab", "abcd", "[1]", [1], ["1"], [2, 4], "2020-01-01",
    "2023-12-31", "2024-01-01", "2024-01-02", "2999-01-01", "2020-01-01T00:00:00", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z",
    "2024-01-01T00:00:00", "11:59:59", "12:00:00", "12:00:01", "P1D", "P2D", "P3D", "-P1D", "1.25", 1.25, "12345", 12345,
    "0.1", "1", "http://a.example/", "ftp://a.example/", "http://a.example/" + "b" * 40,
]  # fmt: skip


def placed(kind: Any, where: str) -> tuple[Any, Any]:
    """Return a type for a parameter, and how a value stands in it."""
    if where == "field":

        class Inner(BaseModel):
            x: kind

        return Inner, lambda value: {"x": value}
    if where == "list":
        return list[kind], lambda value: [value]
    if where == "map":
        return dict[str, kind], lambda value: {"k": value}
    if where == "union":
        return kind | None, lambda value: value
    return kind, lambda value: value


def registry(kind: Any) -> Registry:
    def order(x: Any) -> str:
        """Order."""
        return "done"

    order.__annotations__["x"] = kind
    return Registry([tool(order)])


def accepts(tools: Registry, call: Any) -> bool:
    body = {"name": "order", "arguments": json.dumps(call)}
    return tools.dispatch(body)[0].error is None


CHANGES = [
    (before, after, where)
    for kinds in TYPES.values()
    for before in kinds
    for after in kinds
    if before is not after
    for where in ("alone", "field", "list", "map", "union")
]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(CHANGES))
def test_a_refused_call_is_never_silent(change: Any) -> None:
    """If a call that was accepted is refused, the answer is breaking or unknown; a witness shows what it says."""
    before, after, where = change
    (old_kind, put), (new_kind, _) = placed(before, where), placed(after, where)
    old, new = registry(old_kind), registry(new_kind)
    found = diff(new, make_contract(old))
    levels = {row.level for row in found.changes}
    calls = [{"x": put(value)} for value in VALUES]
    broken = [call for call in calls if accepts(old, call) and not accepts(new, call)]
    if broken:
        assert levels & {"breaking", "unknown"}, (change, broken[:3], found)
    for row in found.changes:
        if row.level == "breaking":
            assert accepts(old, row.witness), (change, row)
            assert not accepts(new, row.witness), (change, row)


def test_the_share_of_unknown_is_small() -> None:
    told: Counter[str] = Counter()
    for before, after, where in CHANGES[::3]:
        found = diff(
            registry(placed(after, where)[0]), make_contract(registry(placed(before, where)[0]))
        )
        levels = {row.level for row in found.changes}
        told[
            "breaking" if "breaking" in levels else "unknown" if "unknown" in levels else "told"
        ] += 1
    print(told)
    assert told["unknown"] <= 0.1 * sum(told.values()), told


def test_validators_and_their_sources_are_in_the_lock(tmp_path: Any) -> None:
    plain, checked = registry(int), registry(Annotated[int, AfterValidator(even)])
    other = registry(Annotated[int, BeforeValidator(any_value)])
    path = tmp_path / "tools.lock.json"
    path.write_text(dump_lock(make_contract(checked)), encoding="utf-8")
    assert not diff(checked, load_lock(path)).changes
    (added,) = diff(checked, make_contract(plain)).changes
    assert (added.kind, added.level, added.path) == ("checks", "breaking", "x")
    (removed,) = diff(plain, load_lock(path)).changes
    assert removed.level == "compatible"
    (widened,) = diff(
        plain, make_contract(other)
    ).changes  # it may have made numbers of what are none
    assert widened.level == "unknown"
    (changed,) = diff(other, load_lock(path)).changes
    assert changed.level == "unknown"
    (unseen,) = diff_contracts(make_contract(plain), make_contract(checked)).changes
    assert unseen.level == "unknown"


def test_a_lock_that_was_written_before_says_what_it_cannot_know(tmp_path: Any) -> None:
    strict = registry(Annotated[int, Field(strict=True)])
    content = json.loads(dump_lock(make_contract(strict)))
    del content["has_checks"], content["tools"]["order"]["checks"]
    path = tmp_path / "tools.lock.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    (change,) = diff(strict, load_lock(path)).changes
    assert (change.kind, change.level, change.before) == ("checks", "unknown", "unknown")
    content["tools"]["order"].pop("checks", None)
    assert not diff(registry(int), load_lock(path)).changes


@pytest.mark.parametrize("where", ["alone", "field", "list", "map"])
def test_a_witness_is_a_whole_call(where: str) -> None:
    old, _ = placed(datetime.date, where)
    new, _ = placed(Annotated[datetime.date, Field(ge=DAY)], where)
    (change,) = diff(registry(new), make_contract(registry(old))).changes
    assert change.level == "breaking"
    assert accepts(registry(old), change.witness)


def test_a_grammar_is_part_of_the_contract() -> None:
    def run(code: str) -> str:
        """Run code."""
        return code

    def made(free_text: Any) -> Registry:
        return Registry([tool(run, name="order", free_text=free_text)])

    free, digits, letters = (
        made(True),
        made(Grammar("regex", "[0-9]+")),
        made(Grammar("regex", "[a-z]+")),
    )
    (added,) = diff(digits, make_contract(free)).changes
    assert (added.kind, added.path, added.level) == ("checks", "code", "breaking")
    assert [row.level for row in diff(free, make_contract(digits)).changes] == ["compatible"]
    (changed,) = diff(letters, make_contract(digits)).changes
    assert changed.level == "breaking"
    assert changed.witness["code"].isdigit()


def test_digests_are_the_same_in_every_process() -> None:
    """A partial and an object that is called have no address in the lock; a validator of version 1 is seen through."""

    def above(least: int, value: int) -> int:
        if value < least:
            raise ValueError("too small")
        return value

    def model(text: str) -> Any:
        scope: dict[str, Any] = {}
        exec(
            text,
            {"BaseModel": BaseModel, "validator": pydantic.validator},
            scope,
        )
        return scope["Model"]

    locked = dump_lock(
        make_contract(registry(Annotated[int, AfterValidator(functools.partial(above, 3))]))
    )
    other = dump_lock(
        make_contract(registry(Annotated[int, AfterValidator(functools.partial(above, 4))]))
    )
    again = dump_lock(
        make_contract(registry(Annotated[int, AfterValidator(functools.partial(above, 3))]))
    )
    assert locked == again != other
    assert "0x" not in locked
    old_style = """
class Model(BaseModel):
    n: int
    @validator("n")
    def check(cls, value):
        return {}
"""
    with pytest.warns(pydantic.PydanticDeprecatedSince20):
        plain, doubled = (
            model(old_style.format("value")),
            model(old_style.format("value * 2 or cls")),
        )
    (change,) = diff(registry(doubled), make_contract(registry(plain))).changes
    assert (change.kind, change.level) == ("checks", "unknown")


def test_classes_along_many_paths_are_locked_in_bounded_time() -> None:
    made: Any = pydantic.create_model("M0", n=(Annotated[int, Field(strict=True)], ...))
    for number in range(1, 12):
        made = pydantic.create_model(f"M{number}", a=(made, ...), b=(made, ...), c=(made, ...))
    started = time.process_time()
    contract = make_contract(registry(made))
    assert time.process_time() - started < 20
    checks = contract.tools["order"].checks
    assert checks
    assert len(checks) <= 20


def test_a_witness_is_a_call_as_it_was_written() -> None:
    """Also where a call that was accepted by a coercion would show the change, too."""

    def work(a: pydantic.HttpUrl | None = None, **more: int) -> None:
        """Work."""

    def later(n: pydantic.HttpUrl | None = None, **more: Any) -> None:
        """Work."""

    found = diff(Registry([tool(later, name="work")]), make_contract(Registry([tool(work)])))
    [change] = [row for row in found.of("breaking") if row.kind == "checks"]
    assert change.witness is not None
    assert type(change.witness["n"]) is int


def test_an_answer_that_becomes_strict() -> None:
    """What is checked of an answer is in the contract, whether or not the answer is an object."""

    class Invoice(BaseModel):
        day: datetime.date

    class Later(BaseModel):
        day: Annotated[datetime.date, Field(ge=DAY)]

    empty = Registry([])
    for before, after, path in (
        (Invoice, Later, "day"),
        (list[datetime.date], list[Annotated[datetime.date, Field(ge=DAY)]], "value[]"),
    ):
        old, new = Output(before, name="x"), Output(after, name="x")
        found = diff(empty, make_contract(empty, outputs=[old]), [new])
        (change,) = [row for row in found.changes if row.kind == "checks"]
        assert (change.level, change.path) == ("breaking", path)


@pytest.mark.parametrize(
    "fact",
    [
        {"type": "shape", "ge": 1},
        {"type": "date", "ge": "soon"},
        {"validator": "grammar"},
        {"type": "int", "strict": 1, "le": {}},
    ],
)
def test_checks_that_are_none_are_refused(tmp_path: Any, fact: Any) -> None:
    content = json.loads(dump_lock(make_contract(registry(int))))
    content["tools"]["order"]["checks"] = {"x": [fact]}
    path = tmp_path / "tools.lock.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match="is not a toolshape lock file"):
        load_lock(path)
