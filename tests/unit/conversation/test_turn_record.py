"""A turn is one record: what is stored of it is what is restored, and nothing runs again without a decision."""

import json
import pickle
import threading
import uuid
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field, PrivateAttr, SecretStr, create_model
from responses import outcomes, response

from toolshape import Conversation, Deny, Injected, Registry, TokenError, UsageError, tool
from toolshape._plan import plan_state
from toolshape._plan.snapshot import snapshot

KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)


class Colour(str, Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    price: Decimal


class Invoice(BaseModel):
    total: Decimal
    due: date
    colour: Colour
    number: uuid.UUID = Field(default_factory=uuid.uuid4)
    lines: tuple[Line, ...] = ()


class Other(BaseModel):
    total: Decimal


class Login(BaseModel):
    user: str
    password: SecretStr


INVOICE = {
    "total": "3.10",
    "due": "2026-11-27",
    "colour": "red",
    "lines": [{"sku": "a", "price": "1"}],
}
PAY = ("pay", {"amount": 5}, "c1")


class Desk:
    """Tools, and what they did."""

    def __init__(self):
        self.paid = []
        self.inside: Any = None

        @tool(effects=["write"], approve=True)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        @tool(effects=["write"])
        def mail(to: str) -> str:
            """Mail."""
            if self.inside is not None:
                self.inside()
            self.paid.append(to)
            return f"sent {to}"

        self.all = [pay, mail]

    def tools(self, **options):
        """A registry of its own, as another process has it."""
        return Registry(self.all, **options)


@pytest.fixture
def desk():
    return Desk()


def asked(tools, body, **options):
    chat = Conversation(tools)
    chat.user("Please.")
    chat.request("groq", model="m", **options)
    chat.dispatch(body, provider="groq")
    return chat


ANSWERED = response(PAY, ("Invoice", INVOICE, "c2"))


@pytest.mark.parametrize("known_by", ["registry", "output", "bound"])
@pytest.mark.parametrize("way", ["token", "text", "pickle"])
def test_an_answer_is_restored_exactly(desk, way, known_by):
    chat = asked(desk.tools(), ANSWERED, output=Invoice)
    before = chat.plan().results.output.value
    assert type(before) is Invoice
    tools = desk.tools(outputs=[Invoice] if known_by == "registry" else [])
    if known_by == "bound":
        tools.bind("openai", output=Invoice)
    given = {"output": Invoice} if known_by == "output" else {}
    if way == "token":
        token = chat.plan().pause(KEY, audience="a", expires=DAY)
        results = tools.resume(token, KEY, {"c1": True}, audience="a", **given)
    elif way == "text":
        restored = Conversation.from_json(chat.to_json(), tools, **given)
        restored.deny("c1", "no")
        results = restored.run()
    else:
        results = pickle.loads(pickle.dumps(chat.plan().results))
    assert type(results.output.value) is Invoice
    assert results.output.value == before


def test_only_the_answer_needs_its_type(desk):
    chat = Conversation.from_json(
        asked(desk.tools(), ANSWERED, output=Invoice).to_json(), desk.tools()
    )
    assert [call.id for call in chat.pending] == ["c1"]
    chat.deny("c1", "no")
    results = chat.run()
    with pytest.raises(UsageError, match="Invoice, which is not known here: pass it as output="):
        _ = results.output


class Point(NamedTuple):
    x: int
    y: int


class Pair(NamedTuple):
    p: int
    q: int


class Marked(BaseModel):
    x: int
    _mark: str = PrivateAttr(default_factory=lambda: uuid.uuid4().hex)


@pytest.mark.parametrize(
    ("kind", "written"),
    [(Point | Pair, {"value": {"p": 1, "q": 2}}), (Marked, {"x": 1})],
    ids=["named tuples", "private"],
)
def test_an_answer_that_would_be_another_says_so(desk, kind, written):
    """A union of named tuples takes the first that fits, and a private attribute is not in the JSON."""
    name = "answer" if kind is not Marked else "Marked"
    tools = desk.tools()
    plan = tools.bind("groq", output=kind, strict=False).plan(response(PAY, (name, written, "c2")))
    token = plan.pause(KEY, audience="a", expires=DAY)
    results = tools.resume(token, KEY, {"c1": Deny("no")}, audience="a")
    with pytest.raises(UsageError, match="does not read back as an equal value"):
        _ = results.output


def test_two_types_of_one_name_are_not_mixed_up(desk):
    first, second = (create_model("Bill", total=(int, ...)) for _ in range(2))
    tools = desk.tools()
    results = tools.bind("groq", output=first).dispatch(response(PAY, ("Bill", {"total": 1}, "c2")))
    token = tools.plan(results).pause(KEY, audience="a", expires=DAY)
    tools.bind("groq", output=second)
    resumed = tools.resume(token, KEY, {"c1": Deny("no")}, audience="a")
    with pytest.raises(UsageError, match="two types here fit it"):
        _ = resumed.output
    tools.request("groq", output=first)
    tools.request("deepseek", output=second)
    with pytest.raises(UsageError, match="pass provider="):
        tools.dispatch(response(("Bill", {"total": 1})))


def test_one_type_written_twice_is_one_type(desk):
    tools = desk.tools()
    assert tools.bind("groq", output=Invoice | Other) is tools.bind("groq", output=Invoice | Other)
    assert tools.bind("groq", output=Other | Invoice) is not tools.bind(
        "groq", output=Invoice | Other
    )
    assert tools.bind("groq", output=list[Other]) is tools.bind("groq", output=list[Other])


def test_the_answer_is_no_call_that_runs(desk):
    plan = desk.tools().bind("groq", output=Invoice).plan(ANSWERED)
    for refused in (
        lambda: plan.approve("c2"),
        lambda: plan.deny("c2"),
        lambda: plan.edit("c2", INVOICE),
        lambda: plan.run(only=["c2"]),
    ):
        with pytest.raises(UsageError, match="holds the answer Invoice"):
            refused()
    assert plan.results[1].text == "received"


def test_nothing_else_is_asked_for_by_none(desk):
    """Providers that cannot force a call are sent the answer's tool alone, and none of their own tools."""
    own = {"type": "function", "function": {"name": "own", "parameters": {"type": "object"}}}
    for provider in ("ollama", "cohere"):
        request = desk.tools().bind(provider, output=Invoice).request(choice="none", native=[own])
        assert [entry["function"]["name"] for entry in request["tools"]] == ["Invoice"]


def test_what_had_begun_is_not_run_again_undecided(desk):
    """Without a ledger, a person decides; a pending call is not touched by that."""
    saved = []
    desk.inside = lambda: saved.append(chat.to_json())
    chat = Conversation(desk.tools())
    chat.user("Mail.")
    chat.dispatch(response(("mail", {"to": "ann"}, "c1")), provider="openai")
    desk.inside = None
    restored = Conversation.from_json(saved[0], desk.tools())
    for refused in (restored.run, restored.plan().run, lambda: restored.approve("c1")):
        with pytest.raises(UsageError, match="again=True"):
            refused()
    with pytest.raises(UsageError, match="again=True"):
        restored.edit("c1", {"to": "bob"})
    restored.approve("c1", again=True)
    assert restored.run()[0].text == "sent ann"
    assert desk.paid == ["ann", "ann"]


def test_a_call_whose_tool_is_gone_can_be_denied(desk):
    text = asked(desk.tools(), response(PAY)).to_json()
    chat = Conversation.from_json(text, Registry([desk.all[1]]))
    assert [(call.name, call.arguments) for call in chat.pending] == [("pay", {"amount": 5})]
    for refused in (lambda: chat.approve("c1"), lambda: chat.edit("c1", {"amount": 4})):
        with pytest.raises(UsageError, match="there is no tool pay here"):
            refused()
    assert json.loads(chat.to_json())["open"]["calls"] == json.loads(text)["open"]["calls"]
    chat.deny("c1", "no")
    assert chat.request("openai", model="m")["messages"][-1]["content"].endswith("no")


def test_a_call_that_would_be_another_is_edited(desk):
    @tool(name="pay", effects=["write"], approve=True)
    def pays_more(amount: int, currency: str = "USD") -> str:
        """Pay."""
        desk.paid.append((amount, currency))
        return "paid"

    chat = Conversation.from_json(
        asked(desk.tools(), response(PAY)).to_json(), Registry([pays_more])
    )
    with pytest.raises(UsageError, match="other arguments than were shown"):
        chat.approve("c1")
    chat.approve(chat.edit("c1", {"amount": 5, "currency": "EUR"}), again=True)
    assert chat.run()[0].text == "paid"
    assert desk.paid == [(5, "EUR")]


def test_an_edit_that_a_rule_let_through_is_undone_with_what_the_rule_said(desk):
    """The text holds what the model wrote, and nobody has approved of that."""

    @tool(effects=["write"], approve=lambda arguments, inject: arguments["n"] > inject["cap"])
    def spend(n: int, *, cap: Injected[int]) -> str:
        """Spend."""
        desk.paid.append(n)
        return f"spent {n}"

    tools = Registry([spend])
    chat = asked(tools, response(("spend", {"n": 500}, "c1")))
    chat.edit("c1", {"n": 5})
    chat.plan().run(only=[], inject={"cap": 100})
    restored = Conversation.from_json(chat.to_json(), tools)
    restored.run(inject={"cap": 100})
    assert [call.arguments["n"] for call in restored.pending] == [500]
    assert desk.paid == []


def test_a_second_delivery(desk):
    class Book:
        wait = 0.0

        def __getattr__(self, name):
            raise AssertionError("the first results stand in the conversation")

        def look(self, identity):
            return None

        def claim(self, identity, *, again):
            raise AssertionError(identity)

        finish = drop = keep = kept = claim

    body = response(("mail", {"to": "ann"}, "c1"))
    chat = asked(desk.tools(), body)
    chat.user("And?")
    messages = chat.messages
    with pytest.raises(UsageError, match="delivered before"):
        chat.dispatch(body, provider="groq")
    [result] = chat.dispatch(body, provider="groq", ledger=Book())
    assert (result.text, result.replayed) == ("sent ann", True)
    assert chat.messages == messages
    assert desk.paid == ["ann"]
    chat.request("groq", model="m")
    chat.dispatch(body, provider="groq")  # asked for again, so it is another
    assert desk.paid == ["ann", "ann"]


def test_forks_are_others():
    chat = Conversation(Registry([]))
    for number in range(3):
        chat.user(str(number))
    text = chat.to_json()
    ids = {chat.trimmed(1).id, chat.trimmed(1).id, chat.trimmed(2).id, chat.id}
    assert len(ids) == 4
    again = [Conversation.from_json(text, Registry([])).trimmed(1).id for _ in range(2)]
    assert again[0] == again[1]


def test_an_exit_in_a_ledger_loses_no_result(desk):
    class Exits:
        wait = 0.0

        def look(self, identity):
            return None

        def claim(self, identity, *, again):
            from toolshape._plan.ledger_store import Claim

            return Claim("ours", "me")

        def finish(self, identity, owner, outcome):
            raise SystemExit(3)

        def drop(self, identity, owner, *, has_begun):
            """Forget it."""

        keep = kept = finish

    chat = Conversation(desk.tools())
    chat.user("Mail.")
    with pytest.raises(SystemExit):
        chat.dispatch(response(("mail", {"to": "ann"}, "c1")), provider="openai", ledger=Exits())
    assert chat.messages[-1].parts[0].text == "sent ann"


SECRET = "correct horse"
Hidden = Annotated[str, Field(json_schema_extra={"writeOnly": True})]


def leaves(chat):
    """Everything that a person or a store gets of a conversation."""
    return [chat.to_json(), str(chat), repr(chat.pending), *(str(call) for call in chat.pending)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Hidden, SECRET),
        (list[Hidden], json.dumps([SECRET])),
        (dict[Hidden, int], {SECRET: 1}),
        (dict[str, SecretStr], {"a": SECRET}),
        (Login, json.dumps({"user": "ann", "password": SECRET})),
    ],
    ids=["text", "coerced", "key", "map", "model"],
)
def test_no_place_of_a_secret_is_shown(kind, value):
    @tool(approve=True)
    def log_in(given: kind) -> str:
        """Log in."""
        return "in"

    chat = Conversation(Registry([log_in]))
    chat.user("Log in.")
    chat.dispatch(response(("log_in", {"given": value}, "c1")), provider="openai")
    assert not [left for left in leaves(chat) if SECRET in left]
    [pending] = chat.pending
    assert SECRET not in repr((pending.arguments, pending.coercions))
    chat.tools = Registry(
        [tool(name="log_in")(lambda given: "in")]
    )  # of that name, and without a secret
    chat.deny("c1", "no")
    assert SECRET not in chat.to_json() + str(chat)


def test_a_secret_answer_under_another_name(desk):
    """The model may have meant it."""
    plan = (
        desk.tools()
        .bind("groq", output=Login)
        .plan(response(PAY, ("Logn", {"password": SECRET}, "c2")))
    )
    with pytest.raises(UsageError, match="pass ledger="):
        plan.pause(KEY, audience="a", expires=DAY)
    chat = Conversation(desk.tools())
    chat.user("Who?")
    chat.request("groq", model="m", output=Login)
    chat.request("anthropic", model="c", max_tokens=9)
    chat.dispatch(response(PAY, ("Logn", {"password": SECRET}, "c2")), provider="groq")
    assert SECRET not in chat.to_json()
    assert chat.messages[1].holds_secret


def test_the_record_goes_through_json(desk):
    plan = desk.tools().bind("groq", output=Invoice).plan(ANSWERED)
    record = snapshot(plan.results, {})
    assert plan_state.from_json(json.loads(json.dumps(plan_state.to_json(record)))) == record
    for damaged in ({}, [], None, {"version": 3}, {**plan_state.to_json(record), "version": 2}):
        with pytest.raises(ValueError, match=r"turn"):
            plan_state.from_json(damaged)


def test_a_text_is_of_one_moment(desk):
    """While six calls run in threads, each stored result is that of its call."""
    lock = threading.Event()

    @tool(effects=["read"])
    def look(n: int) -> str:
        """Look."""
        lock.wait(0.001)
        return f"saw {n}"

    tools, texts, done = Registry([look]), [], threading.Event()
    chat = Conversation(tools)
    chat.user("Look.")

    def save():
        while not done.is_set():
            texts.append(chat.to_json())

    saving = threading.Thread(target=save)
    saving.start()
    chat.dispatch(response(*(("look", {"n": n}, f"c{n}") for n in range(6))), provider="openai")
    done.set()
    saving.join()
    for text in texts:
        if "open" in json.loads(text):
            results = Conversation.from_json(text, tools).plan().results
            assert {f"saw {result.id[1:]}" for result in results if result.ok} == {
                result.text for result in results if result.ok
            }


def test_a_refused_resumption_decides_nothing(desk):
    chat = asked(desk.tools(), response(PAY))
    token = chat.pause(KEY, audience="a", expires=DAY)
    restored = Conversation.from_json(chat.to_json(), desk.tools())
    with pytest.raises(TokenError):
        restored.resume(token, KEY, {"c1": True}, audience="b")
    assert [call.id for call in restored.pending] == ["c1"]
    assert outcomes(restored.resume(token, KEY, {"c1": True}, audience="a")) == ["paid 5"]
