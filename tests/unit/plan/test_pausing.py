"""Plans that are paused and resumed: what runs is what was shown, by whom it was meant for, in time, and once."""

import asyncio
import copy
import datetime
import enum
import json
import pickle
import threading
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, PlainSerializer, SecretStr
from responses import outcomes, response

from toolshape import (
    CallError,
    Deny,
    Image,
    Registry,
    TokenError,
    Tool,
    ToolError,
    UsageError,
    tool,
)
from toolshape._plan import signing as tokens
from toolshape._records.identity import canonical_json
from toolshape.ledger import Ledger

KEY = b"a key of thirty-two bytes, secret"
HOUR = timedelta(hours=1)
RAN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "calls.db") as made:
        yield made


@tool(effects=["write"], approve=True)
def pay(amount: Decimal, to: str = "bob") -> str:
    """Pay."""
    RAN.append((amount, to))
    return f"paid {amount} to {to}"


@tool
async def look(n: int) -> dict[str, int]:
    """Look."""
    return {"seen": n}


TOOLS = Registry([pay, look])
BODY = response(
    ("pay", {"amount": "5.10"}),
    ("look", {"n": 1}),
    ("nope", {}),
    ("pay", '{"amount": 7, "to": "eve"}'),
)


def paused(body=BODY, tools=TOOLS, **options):
    plan = tools.bind("openai").plan(body)
    return plan.pause(KEY, **{"audience": "ann", "expires": HOUR, **options})


def resume(token, decisions=None, tools=TOOLS, **options):
    decided = {"call_0": True, "call_3": True} if decisions is None else decisions
    return tools.resume(token, KEY, decided, **{"audience": "ann", **options})


def test_what_was_decided_runs_elsewhere():
    """What ran before is answered by what came of it, as JSON."""
    plan = TOOLS.bind("openai").plan(BODY)
    plan.run()
    token = plan.pause(KEY, audience="ann", expires=HOUR)
    other = pickle.loads(pickle.dumps(Registry([pay, look])))
    results = resume(token, {"call_0": True, "call_3": Deny("eve is nobody")}, other)
    assert outcomes(results) == ["paid 5.10 to bob", {"seen": 1}, "unknown_tool", "denied"]
    assert [result.replayed for result in results] == [False, True, True, False]
    assert [(Decimal("5.10"), "bob")] == RAN
    assert results.turn[0] == BODY["choices"][0]["message"]
    assert [message["tool_call_id"] for message in results.messages] == [
        "call_0",
        "call_1",
        "call_2",
        "call_3",
    ]
    assert results.messages[1]["content"] == '{"seen":1}'
    assert "There is no tool named" in results.messages[2]["content"]
    assert results.finish == "tool_calls"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_scope_of_a_pause_tells_equal_ids_apart(ledger, is_async):
    """Of a server that counts its ids from 0: each conversation pays its own, and a second resume of a call pays nothing."""
    for conversation in ("a", "b", "a"):
        plan = TOOLS.bind("openai").plan(response(("pay", {"amount": 1})))
        options = {"audience": "us", "expires": HOUR, "ledger": ledger, "scope": conversation}
        token = asyncio.run(plan.apause(KEY, **options)) if is_async else plan.pause(KEY, **options)
        decisions = {plan.calls[0].id: True}
        assert TOOLS.resume(token, KEY, decisions, audience="us", ledger=ledger)[0].ok
    assert len(RAN) == 2
    with pytest.raises(UsageError, match="scope= must be a string"):
        TOOLS.bind("openai").plan(BODY).pause(KEY, audience="us", expires=HOUR, scope=5)


def test_the_same_in_a_loop():
    async def main():
        plan = TOOLS.bind("openai").plan(BODY)
        token = await plan.apause(KEY, audience="ann", expires=HOUR)
        return await TOOLS.aresume(token, KEY, {"call_0": True, "call_3": False}, audience="ann")

    assert outcomes(asyncio.run(main())) == [
        "paid 5.10 to bob",
        {"seen": 1},
        "unknown_tool",
        "denied",
    ]


def test_a_token_can_be_read():
    """It is signed, and not encrypted: somebody may want to see what waits."""
    shown = json.loads(paused())
    assert [
        (call["id"], call["tool"], call["state"], call.get("arguments")) for call in shown["calls"]
    ] == [
        ("call_0", "pay", "pending", {"amount": "5.10", "to": "bob"}),
        ("call_1", "look", "free", {"n": 1}),
        ("call_2", None, "answered", None),
        ("call_3", "pay", "pending", {"amount": "7", "to": "eve"}),
    ]
    assert shown["audience"] == "ann"
    assert shown["expires"] - shown["issued"] == 3600


def test_what_nothing_was_decided_of_waits_on():
    results = resume(paused(), {"call_3": True})
    assert outcomes(results) == ["pending", {"seen": 1}, "unknown_tool", "paid 7 to eve"]
    again = TOOLS.plan(results).pause(KEY, audience="ann", expires=HOUR)
    assert outcomes(resume(again, {"call_0": True}))[0] == "paid 5.10 to bob"
    assert [(7, "eve"), (Decimal("5.10"), "bob")] == RAN


def test_an_edit_is_asked_of_anew():
    results = resume(paused(), {"call_0": {"amount": "1.00"}, "call_3": False})
    assert [item.arguments for item in results.pending] == [{"amount": "1.00", "to": "bob"}]
    plan = TOOLS.plan(results)
    plan.approve(plan.pending)
    assert outcomes(plan.run())[0] == "paid 1.00 to bob"


def test_what_was_edited_before_the_pause_stays_so():
    plan = TOOLS.bind("openai", strict=True).plan(response(("pay", {"amount": "5", "to": "x"})))
    plan.edit("call_0", {"amount": "9"})
    token = plan.pause(KEY, audience="ann", expires=HOUR)
    [result] = resume(token, {"call_0": True})
    assert result.value == "paid 9 to bob"
    assert result.arguments == {"amount": "9", "to": "bob"}


@pytest.mark.parametrize(
    ("decisions", "error", "said"),
    [
        (
            {"call_9": True},
            UsageError,
            "decisions= names 'call_9', but no call of this plan has this id",
        ),
        ({"call_2": True}, UsageError, "is answered"),
        ({"call_0": 1}, UsageError, "the decision on 'call_0' is 1: pass True to run the call"),
        ({"call_0": "yes"}, UsageError, r"pass True to run the call, Deny\('yes'\) to deny it"),
        (["call_0"], UsageError, "decisions= takes a dict"),
        ({"call_3": True, "call_0": {"amount": "x"}}, CallError, "expected"),
    ],
)
def test_a_decision_that_cannot_be_meant_runs_nothing(decisions, error, said):
    with pytest.raises(error, match=said):
        resume(paused(), decisions)
    assert not RAN


def test_a_plan_is_paused_once_and_runs_no_more_here():
    plan = TOOLS.bind("openai").plan(BODY)
    plan.pause(KEY, audience="ann", expires=HOUR)
    assert [item.id for item in plan.pending] == ["call_0", "call_1", "call_3"]
    for refused in (
        lambda: plan.approve("call_0"),
        lambda: plan.deny("call_0"),
        lambda: plan.edit("call_0", {"amount": 1}),
        lambda: plan.pause(KEY, audience="ann", expires=HOUR),
        lambda: plan.results.messages,
    ):
        with pytest.raises(UsageError):
            refused()
    assert outcomes(plan.run()) == ["pending", "pending", "unknown_tool", "pending"]
    assert not RAN


def test_where_all_is_answered_there_is_nothing_to_pause():
    plan = TOOLS.bind("openai").plan(response(("look", {"n": 1})))
    plan.run()
    with pytest.raises(UsageError, match="nothing to pause"):
        plan.pause(KEY, audience="ann", expires=HOUR)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"expires": 60}, "timedelta"),
        ({"expires": timedelta(0)}, "timedelta"),
        ({"audience": None}, "audience= takes a string"),
        ({"ledger": "calls.db"}, "takes a toolshape.ledger.Ledger"),
    ],
)
def test_what_a_plan_cannot_be_paused_with_changes_nothing(options, said):
    plan = TOOLS.bind("openai").plan(BODY)
    with pytest.raises(UsageError, match=said):
        plan.pause(KEY, **{"audience": "ann", "expires": HOUR, **options})
    with pytest.raises(UsageError, match="16 bytes"):
        plan.pause("short", audience="ann", expires=HOUR)
    plan.approve(plan.pending)
    assert outcomes(plan.run())[0] == "paid 5.10 to bob"


# --- what is no token ---------------------------------------------------------------------------------------------


def refused(token, decisions=(), **options):
    with pytest.raises(TokenError) as caught:
        resume(token, dict(decisions), **options)
    assert not RAN
    return caught.value.rule


def test_what_is_no_token_is_refused(monkeypatch):
    token = paused()
    now = time.time()
    shown = json.loads(token)
    assert (
        refused("")
        == refused(None)
        == refused("[]")
        == refused("{" * 100_000)
        == refused(b"\xff")
        == "malformed"
    )
    assert refused("{}") == refused(canonical_json({"audience": "ann"})) == "signature"
    assert refused(json.dumps(shown)) == refused(token + " ") == "malformed"
    assert refused(token[:-1] + ',"version":1}') == "malformed"
    assert (
        refused(token.replace('"audience":"ann"', '"audience":"bob","audience":"ann"'))
        == "malformed"
    )
    assert refused(canonical_json({**shown, "signature": None})) == "signature"
    assert refused(token, audience="bob") == "audience"
    with pytest.raises(TokenError, match="signed with another key"):
        TOOLS.resume(token, b"another key of thirty-two bytes.", {}, audience="ann")
    monkeypatch.setattr(time, "time", lambda: now + 3601)
    assert refused(token) == "expired"
    monkeypatch.setattr(time, "time", lambda: now - 3600)
    assert refused(token) == "not_yet"


def places(value, place=()):
    """Where each value stands inside of JSON, the whole first."""
    yield place
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*place, key))


def with_value(content, place, value):
    """The same JSON with another value at a place."""
    if not place:
        return value
    first, *rest = place
    copied = copy.copy(content)
    copied[first] = with_value(content[first], rest, value)
    return copied


ODD = [
    None, True, 0, -1, 10**400, 1e308, float("nan"), float("inf"), "", "\ud800", "\udfff x", "\0", "é", [], {}, [None],
    {"\ud800": 2},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_a_token_with_another_value_anywhere_is_refused(odd):
    """Half a surrogate pair, which JSON may hold and UTF-8 does not, is no crash; nor is any other value."""
    shown = json.loads(paused())
    changed = [one for place in places(shown) if (one := with_value(shown, place, odd)) != shown]
    assert len(changed) > 30
    for content in changed:
        assert refused(canonical_json(content)) in ("malformed", "signature")
        assert refused(json.dumps(content, ensure_ascii=False)) in ("malformed", "signature")


def test_a_key_may_be_any_text():
    with pytest.raises(TokenError, match="signed with another key"):
        TOOLS.resume(paused(), "\ud800" * 20, {}, audience="ann")


def test_a_token_of_a_later_version_is_refused(monkeypatch):
    content = json.loads(paused())
    del content["signature"]
    assert refused(tokens.sign({**content, "version": 99}, KEY)) == "malformed"


# --- what is run is what was approved of --------------------------------------------------------------------------


def test_a_tool_that_is_sent_otherwise_is_refused():
    @tool(name="pay", approve=True)
    def pays_otherwise(amount: Decimal, to: str = "mallory") -> str:
        """Pay."""
        raise AssertionError

    for tools, why in (([pays_otherwise, look], "arguments_changed"), ([look], "tools_changed")):
        assert refused(paused(), {"call_0": True}, tools=Registry(tools)) == why
        results = resume(paused(), {}, tools=Registry(tools))
        assert [call.id for call in results.pending] == ["call_0", "call_3"]
        assert not RAN
        denied = resume(paused(), {"call_0": Deny("no")}, tools=Registry(tools))
        assert outcomes(denied)[0] == "denied"
    more = Registry([tool(name="another")(lambda: None), pay, look])
    assert outcomes(resume(paused(), tools=more))[0] == "paid 5.10 to bob"


FACTOR = {"now": 1}


@tool(approve=True)
def scale(n: Annotated[int, AfterValidator(lambda n: n * FACTOR["now"])]) -> int:
    """Scale."""
    RAN.append(n)
    return n


def test_a_tool_that_validates_otherwise_is_refused(monkeypatch):
    """Nothing of that is seen in its schema."""
    tools = Registry([scale])
    token = paused(response(("scale", {"n": 2})), tools)
    with monkeypatch.context() as changed:
        changed.setitem(FACTOR, "now", 100)
        assert refused(token, {"call_0": True}, tools=tools) == "arguments_changed"
    assert outcomes(resume(token, {"call_0": True}, tools)) == [2]


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Box:
    width: int
    depth: float = 1.5


class Line(BaseModel):
    sku: str
    note: str | None = None


class Patch(BaseModel):
    title: str | None = None
    text: str | None = None


@tool(approve=True)
def everything(
    day: datetime.date,
    colour: Colour,
    box: Box,
    lines: list[Line],
    seen: set[str],
    ids: dict[int, uuid.UUID],
    data: bytes,
    patch: Patch,
    made: Annotated[str, Field(default_factory=lambda: uuid.uuid4().hex)],
    wait: timedelta = timedelta(seconds=3),
) -> None:
    """Everything."""
    RAN.append(
        (day, colour, box, lines, seen, ids, data, patch, patch.model_fields_set, made, wait)
    )


ARGUMENTS = {
    "day": "2026-11-22", "colour": "red", "box": {"width": 3}, "lines": [{"sku": "a"}, {"sku": "b", "note": "n"}],
    "seen": ["x", "y", "z", "u", "v"], "ids": {"1": str(uuid.UUID(int=5))}, "data": "aGk=", "patch": {"title": "t"},
}  # fmt: skip


def test_arguments_of_every_kind_come_again_as_they_were():
    tools = Registry([everything])
    plan = tools.bind("openai").plan(response(("everything", {**ARGUMENTS, "made": "m"})))
    plan.approve(plan.pending)
    plan.run()
    resume(
        paused(response(("everything", {**ARGUMENTS, "made": "m"})), tools), {"call_0": True}, tools
    )
    assert RAN[0] == RAN[1]
    assert RAN[1][8] == {"title"}


def test_what_a_default_factory_made_is_what_was_shown():
    tools = Registry([everything])
    token = paused(response(("everything", ARGUMENTS)), tools)
    shown = json.loads(token)["calls"][0]["arguments"]["made"]
    resume(token, {"call_0": True}, tools)
    assert RAN[0][9] == shown
    assert RAN[0][8] == {"title"}  # what nobody gave is not given for having been filled in


class Odd:
    def __get_pydantic_core_schema__(self, *_):
        raise NotImplementedError


def test_what_does_not_survive_json_and_validation_cannot_be_paused():
    """A validator that gives something else each time, and has no way back."""

    @tool(approve=True)
    def salted(word: Annotated[str, AfterValidator(lambda word: word + uuid.uuid4().hex)]) -> str:
        """Salt."""
        return word

    @tool(approve=True)
    def opaque(word: Annotated[str, AfterValidator(lambda word: Odd())]) -> str:
        """Hide."""
        return "x"

    for name, said in (
        ("salted", "change when they are validated a second time"),
        ("opaque", "type Odd cannot be written as JSON"),
    ):
        tools = Registry([salted, opaque])
        plan = tools.bind("openai").plan(response((name, {"word": "a"})))
        with pytest.raises(UsageError, match=f"a call of {name} cannot be paused: .*{said}"):
            plan.pause(KEY, audience="ann", expires=HOUR)
        plan.approve(plan.pending)
        assert plan.run()[0].ok


def test_what_a_serialiser_loses_is_not_lost():
    """The digest is of what the function gets, not of what somebody would print of it."""

    @tool(approve=True)
    def measure(n: Annotated[float, PlainSerializer(lambda n: round(n))]) -> float:
        """Measure."""
        return n

    tools = Registry([measure])
    assert outcomes(
        resume(paused(response(("measure", {"n": 1.25})), tools), {"call_0": True}, tools)
    ) == [1.25]


def test_a_tool_of_a_definition_is_paused_as_any_other():
    made = Tool.from_definition(
        {"name": "wipe", "input_schema": {"type": "object", "properties": {"disk": {"type": "string"}}, "required": ["disk"]}},
        lambda disk: RAN.append(disk) or "wiped",
        approve=True,
    )  # fmt: skip
    tools = Registry([made])
    assert outcomes(
        resume(paused(response(("wipe", {"disk": "a"})), tools), {"call_0": True}, tools)
    ) == ["wiped"]


def test_parts_and_errors_come_again_as_they_were():
    @tool
    def draw() -> list[Image | str]:
        """Draw."""
        return ["here", Image(b"\x89PNG")]

    @tool
    def fail() -> None:
        """Fail."""
        raise ToolError("no such thing", retryable=True)

    tools = Registry([draw, fail, pay])
    plan = tools.bind("anthropic").plan(
        {
            "type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [
                {"type": "tool_use", "id": f"t{n}", "name": name, "input": given}
                for n, (name, given) in enumerate([("draw", {}), ("fail", {}), ("pay", {"amount": 1})])
            ],
        }
    )  # fmt: skip
    results = plan.run()
    before = list(results)
    token = plan.pause(KEY, audience="ann", expires=HOUR)
    after = tools.resume(token, KEY, {"t2": True}, audience="ann")
    assert after[0].parts == before[0].parts
    assert after[1].error.code == "tool_error"
    assert after[1].error.retryable
    assert str(after[1].error) == "no such thing"
    assert json.dumps(after.messages[0]["content"][0]) == json.dumps(
        results.provider.codec.write_results([before[0]])[0]["content"][0]
    )


# --- secrets ------------------------------------------------------------------------------------------------------


@tool(approve=True)
def login(user: str, password: SecretStr) -> str:
    """Log in."""
    RAN.append((user, password.get_secret_value()))
    return "in"


SECRET = response(("login", {"user": "ann", "password": "correct horse"}), ("look", {"n": 1}))


def test_a_secret_never_stands_in_a_token(ledger, tmp_path):
    tools = Registry([login, look])
    with pytest.raises(
        UsageError, match="takes secrets, which a token never contains: pass ledger="
    ):
        paused(SECRET, tools)
    token = paused(SECRET, tools, ledger=ledger)
    assert "horse" not in token
    assert json.loads(token)["calls"][0]["arguments"] == {"user": "ann", "password": "[hidden]"}
    with pytest.raises(UsageError, match="are in a ledger"):
        resume(token, {"call_0": True}, tools)
    with Ledger(tmp_path / "another.db") as another:
        assert refused(token, tools=tools, ledger=another) == "used"
    results = resume(token, {"call_0": True}, tools, ledger=ledger)
    assert outcomes(results) == ["in", {"seen": 1}]
    assert RAN == [("ann", "correct horse")]
    assert results.turn[0] == SECRET["choices"][0]["message"]
    assert ledger.kept(json.loads(token)["id"]) is None


def test_with_a_ledger_a_token_is_used_once(ledger):
    token = paused()
    assert outcomes(resume(token, ledger=ledger))[3] == "paid 7 to eve"
    RAN.clear()
    assert refused(token, ledger=ledger) == "used"
    assert outcomes(resume(token))[3] == "paid 7 to eve"  # without one, until it expires


def test_a_token_is_not_spent_where_nothing_ran(ledger):
    """A missing value, or a wrong decision, is put right and resumed again."""
    token = paused()
    with pytest.raises(UsageError, match="the decision on"):
        resume(token, {"call_0": 5}, ledger=ledger)

    async def inside():
        resume(token, ledger=ledger)

    with pytest.raises(UsageError, match="an event loop is running"):
        asyncio.run(inside())
    assert outcomes(resume(token, ledger=ledger))[3] == "paid 7 to eve"


def test_what_waits_on_leaves_the_token_as_it_was_and_runs_nothing_twice(ledger):
    token = paused()
    assert outcomes(resume(token, {"call_3": True}, ledger=ledger))[::3] == [
        "pending",
        "paid 7 to eve",
    ]
    results = resume(token, {"call_0": True, "call_3": True}, ledger=ledger)
    assert outcomes(results)[::3] == ["paid 5.10 to bob", "paid 7 to eve"]
    assert results[3].replayed
    assert len(RAN) == 2
    RAN.clear()
    assert refused(token, ledger=ledger) == "used"


def test_a_token_that_is_being_used_is_refused(ledger):
    token = paused()
    inner = []

    @tool(name="look")
    async def looks(n: int) -> dict[str, int]:
        """Look."""
        with pytest.raises(TokenError) as caught:
            await tools.aresume(token, KEY, {}, audience="ann", ledger=ledger)
        inner.append(caught.value.rule)
        return {"seen": n}

    tools = Registry([pay, looks])
    asyncio.run(
        tools.aresume(token, KEY, {"call_0": True, "call_3": True}, audience="ann", ledger=ledger)
    )
    assert inner == ["in_use"]


def test_the_scope_of_the_first_run_goes_with_the_plan(ledger):
    """So that a response that is delivered again finds what was resumed."""
    results = TOOLS.dispatch(BODY, ledger=ledger, scope="c:1")
    token = TOOLS.plan(results).pause(KEY, audience="ann", expires=HOUR)
    resume(token, ledger=ledger)
    assert {entry.call_id for entry in ledger.entries("c:1")} == {"call_0", "call_1", "call_3"}
    again = TOOLS.plan(BODY)
    again.approve(again.pending)
    assert [item.replayed for item in again.run(ledger=ledger, scope="c:1")] == [
        True,
        True,
        False,
        True,
    ]
    assert len(RAN) == 2


def test_a_token_error_survives_pickling():
    error = pickle.loads(pickle.dumps(TokenError("used", "it was used")))
    assert (error.rule, str(error)) == ("used", "it was used")


# --- what stays as it was, and what is kept ------------------------------------------------------------------------


def test_the_order_of_an_object_is_kept():
    @tool(approve=True)
    def rank(
        scores: dict[str, int],
        made: Annotated[str, Field(default_factory=lambda: uuid.uuid4().hex)],
    ) -> None:
        """Rank."""
        RAN.append(list(scores))

    tools = Registry([rank])
    body = response(
        ("rank", {"scores": {"b": 1, "a": 2}}), ("rank", {"scores": {"z": 1, "y": 2}, "made": "m"})
    )
    results = resume(paused(body, tools), {"call_0": True, "call_1": True}, tools)
    assert RAN == [["b", "a"], ["z", "y"]]
    assert json.dumps(results.turn[0]) == json.dumps(body["choices"][0]["message"])


def test_what_nobody_had_to_approve_of_is_asked_anew_when_it_is_resumed():
    limits = [100]

    @tool(approve=lambda arguments: arguments["amount"] > limits[0])
    def spend(amount: int) -> str:
        """Spend."""
        return f"spent {amount}"

    tools = Registry([spend])
    token = paused(response(("spend", {"amount": 50}), ("spend", {"amount": 200})), tools)
    limits[0] = 10
    assert outcomes(resume(token, {"call_1": True}, tools)) == ["pending", "spent 200"]


def test_a_plan_cannot_be_paused_while_a_call_of_it_runs():
    said = []

    @tool
    def looks(n: int) -> int:
        """Look."""
        with pytest.raises(
            UsageError, match="is running: pause the plan once this call is answered"
        ) as caught:
            plan.pause(KEY, audience="ann", expires=HOUR)
        said.append(caught)
        return n

    plan = Registry([pay, looks]).plan(
        response(("looks", {"n": 1}), ("pay", {"amount": 1})), provider="openai"
    )
    assert outcomes(plan.run()) == [1, "pending"]
    assert said
    assert plan.pause(KEY, audience="ann", expires=HOUR)


def test_a_plan_that_could_not_be_paused_is_what_it_was(ledger, monkeypatch):
    plan = Registry([login, look]).bind("openai").plan(SECRET)
    monkeypatch.setattr(ledger, "keep", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        plan.pause(KEY, audience="ann", expires=HOUR, ledger=ledger)
    plan.approve("call_0")
    assert outcomes(plan.run()) == ["in", {"seen": 1}]


def test_a_secret_in_a_call_of_a_tool_that_is_not_there_stands_in_no_token(ledger):
    body = response(("logn", {"user": "ann", "password": "correct horse"}), ("look", {"n": 1}))
    with pytest.raises(UsageError, match="takes secrets"):
        paused(body, Registry([login, look]))
    token = paused(body, Registry([login, look]), ledger=ledger)
    assert "horse" not in token
    assert outcomes(resume(token, {}, Registry([login, look]), ledger=ledger)) == [
        "unknown_tool",
        {"seen": 1},
    ]


@pytest.mark.parametrize("decision", [False, Deny("no")])
def test_what_was_denied_is_not_run_by_the_same_token(decision, ledger):
    token = paused()
    assert outcomes(resume(token, {"call_0": decision}, ledger=ledger))[::3] == [
        "denied",
        "pending",
    ]
    results = resume(token, {"call_0": True, "call_3": True}, ledger=ledger)
    assert outcomes(results)[::3] == ["denied", "paid 7 to eve"]
    assert results[0].replayed
    again = paused()  # nor by another token of the same response
    assert outcomes(resume(again, {"call_0": True, "call_3": True}, ledger=ledger))[::3] == [
        "denied",
        "paid 7 to eve",
    ]
    assert [(Decimal(7), "eve")] == RAN


def test_what_has_run_cannot_be_denied_any_more(ledger):
    token = paused()
    resume(token, {"call_0": True}, ledger=ledger)
    assert outcomes(resume(token, {"call_0": False, "call_3": False}, ledger=ledger))[::3] == [
        "paid 5.10 to bob", "denied",
    ]  # fmt: skip


def test_calls_whose_ids_were_made_up_run_once_for_a_token(ledger):
    body = {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "pay", "args": {"amount": 5}}}] * 2}}
        ]
    }
    plan = TOOLS.bind("gemini").plan(body)
    token = plan.pause(KEY, audience="ann", expires=HOUR)
    first, second = (call.id for call in plan.calls)
    assert outcomes(resume(token, {first: True}, ledger=ledger)) == ["paid 5 to bob", "pending"]
    results = resume(token, {first: True, second: True}, ledger=ledger)
    assert [result.replayed for result in results] == [True, False]
    assert len(RAN) == 2


def test_what_was_resumed_is_found_when_its_response_is_delivered_again(ledger):
    resume(paused(), ledger=ledger)
    again = TOOLS.plan(BODY, provider="openai")
    again.approve(again.pending)
    assert [item.replayed for item in again.run(ledger=ledger)] == [True, True, False, True]


def test_results_are_not_lost_where_the_token_cannot_be_spent(ledger, monkeypatch, caplog):
    token, finish = paused(), ledger.finish

    def fails(identity, owner, outcome):
        if identity.scope == "paused plans":
            raise OSError("disk")
        finish(identity, owner, outcome)

    monkeypatch.setattr(ledger, "finish", fails)
    assert outcomes(resume(token, ledger=ledger))[::3] == ["paid 5.10 to bob", "paid 7 to eve"]
    assert "could not record the outcome" in caplog.text


def test_cancelled_while_a_token_is_taken_it_can_be_used(ledger, monkeypatch):
    token, claim, taken = paused(), ledger.claim, threading.Event()

    def slow(identity, *, again):
        made = claim(identity, again=again)
        taken.set()
        time.sleep(0.2)
        return made

    monkeypatch.setattr(ledger, "claim", slow)

    async def main():
        task = asyncio.ensure_future(
            TOOLS.aresume(token, KEY, {"call_0": True}, audience="ann", ledger=ledger)
        )
        await asyncio.to_thread(taken.wait)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()  # and once more
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not RAN
    monkeypatch.setattr(ledger, "claim", claim)
    assert outcomes(resume(token, ledger=ledger))[3] == "paid 7 to eve"


def test_a_place_that_is_secret_as_a_whole_is_masked_as_a_whole(ledger):
    @tool(approve=True)
    def sign_in(
        keys: Annotated[dict[str, str], Field(json_schema_extra={"writeOnly": True})],
    ) -> str:
        """Sign in."""
        return keys["a"]

    token = paused(
        response(("sign_in", {"keys": {"hunter2": "x", "a": "b"}})),
        Registry([sign_in]),
        ledger=ledger,
    )
    assert json.loads(token)["calls"][0]["arguments"] == {"keys": "[hidden]"}
    assert "hunter2" not in token
