"""The open turn of a conversation: a call waits, and nothing that ran is lost, repeated or left out."""

import asyncio
import json
import pickle
from datetime import timedelta

import pytest
from pydantic import BaseModel, SecretStr
from responses import outcomes, response

from toolshape import Conversation, Deny, HistoryError, Registry, TokenError, UsageError, tool
from toolshape.ledger import Ledger
from toolshape.messages import calls_in, results_in

KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)


def desk():
    """Tools, and what they did."""
    done = []

    @tool(effects=["write"])
    def mail(to: str) -> str:
        """Mail."""
        done.append(("mail", to))
        return "sent"

    @tool(effects=["destructive"], approve=True)
    def refund(amount: int) -> str:
        """Refund."""
        done.append(("refund", amount))
        return f"refunded {amount}"

    return Registry([mail, refund]), done


ASKED = response(("mail", {"to": "ann"}), ("refund", {"amount": 5}))
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"functionCall": {"name": "refund", "args": {"amount": 5}}}],
            },
            "finishReason": "STOP",
        }
    ]
}


def asked(tools, body=ASKED, provider="openai", **options):
    chat = Conversation(tools)
    chat.user("refund ann")
    chat.request(provider, model="m")
    chat.dispatch(body, **options)
    return chat


def test_what_ran_is_there_and_the_turn_waits():
    """The message of the assistant, and each result that is there; nothing else can be said."""
    tools, done = desk()
    chat = asked(tools)
    assert [message.role for message in chat] == ["user", "assistant", "tool"]
    assert [part.text for part in results_in(chat.messages[-1])] == ["sent"]
    assert [waiting.arguments for waiting in chat.pending] == [{"amount": 5}]
    for refused in (
        lambda: chat.user("and?"),
        lambda: chat.system("Be quick."),
        lambda: chat.read([{"role": "user", "content": "x"}], "openai"),
        lambda: chat.dispatch(ASKED),
        lambda: chat.plan(ASKED),
        lambda: asyncio.run(chat.adispatch(ASKED)),
        lambda: chat.trimmed(1),
    ):
        with pytest.raises(
            UsageError, match=r"refund \(call_1\) still waits.*deny or edit the call and call run"
        ):
            refused()
    with pytest.raises(HistoryError, match=r"refund \(call_1\) has no result yet") as caught:
        chat.request("openai", model="m")
    assert [problem.rule for problem in caught.value.problems] == ["open_turn"]
    assert done == [("mail", "ann")]


@pytest.mark.parametrize("in_loop", [False, True])
def test_what_was_approved_runs_and_closes_the_turn(in_loop):
    tools, done = desk()
    chat = asked(tools)
    chat.approve(chat.pending)
    results = asyncio.run(chat.arun()) if in_loop else chat.run()
    assert outcomes(results) == ["sent", "refunded 5"]
    assert done == [("mail", "ann"), ("refund", 5)]
    assert not chat.pending
    sent = chat.request("openai", model="m")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]
    with pytest.raises(UsageError, match="the turn is not open"):
        chat.run()


def test_what_was_denied_or_edited():
    tools, done = desk()
    chat = asked(tools)
    chat.deny("call_1", "not today")
    assert [part.text for part in results_in(chat.messages[-1])] == [
        "sent", "refund was not allowed and was not run: not today",
    ]  # fmt: skip
    chat = asked(tools)
    edited = chat.edit("call_1", {"amount": 3})
    chat.approve(edited)
    assert outcomes(chat.dispatch()) == [
        "sent",
        "refunded 3",
    ]  # without a response: the calls that wait
    assert done == [("mail", "ann"), ("mail", "ann"), ("refund", 3)]


def test_decisions_on_the_plan_are_those_of_the_turn():
    """A plan is another way to the same results."""
    tools, done = desk()
    chat = asked(tools)
    plan = chat.plan()
    plan.approve(plan.pending)
    plan.run()
    chat.user("thanks")
    assert [message.role for message in chat] == ["user", "assistant", "tool", "user"]
    other = Conversation(tools)
    other.user("hi")
    plan = other.plan(ASKED, provider="openai")
    plan.run()
    other += plan.results
    assert [waiting.id for waiting in other.pending] == ["call_1"]
    plan.deny("call_1")
    other += plan.results
    other.user("on")
    assert len(done) == 3


def test_a_loop_that_does_not_look_stops():
    """It never repeats what ran."""
    tools, done = desk()
    chat = Conversation(tools)
    chat.user("refund 5 and tell ann")

    def loop():
        for _ in range(5):
            chat.request("openai", model="m")
            if not chat.dispatch(ASKED):
                break

    with pytest.raises(HistoryError, match="has no result yet"):
        loop()
    assert done == [("mail", "ann")]


def test_nothing_is_appended_where_nothing_could_be_run():
    """A mistake of the developer's is put right, and the response dispatched once more."""
    chat = Conversation(desk()[0])
    chat.user("hi")
    for wrong in ({"limit": 0}, {"ledger": "no ledger"}):
        with pytest.raises(UsageError):
            chat.dispatch(ASKED, provider="openai", **wrong)
        assert [message.role for message in chat] == ["user"]
        assert not chat.pending
    chat.dispatch(ASKED, provider="openai")
    assert [message.role for message in chat] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    "store", [lambda chat, tools: Conversation.from_json(chat.to_json(), tools), "pickle"]
)
def test_a_stored_turn_says_pending_and_never_approved(store):
    """Whoever has the text can change it: what was approved waits again, and is run with a ledger or a token alone."""
    tools, done = desk()
    chat = asked(tools)
    chat.approve("call_1")
    assert "approved" not in chat.to_json()
    if store == "pickle":
        text = chat.to_json()
        again = Conversation.from_json(text, tools)
        again = Conversation(tools)._restored(
            tools, *pickle.loads(pickle.dumps(chat.__reduce__()[1][1:]))
        )
    else:
        again = store(chat, tools)
    assert again.messages == chat.messages
    assert again.id == chat.id
    with pytest.raises(UsageError, match="still waits"):
        again.user("and?")
    assert [waiting.id for waiting in again.pending] == ["call_1"]
    again.approve(again.pending)
    with pytest.raises(UsageError, match=r"refund \(call_1\) may have run since.*ledger="):
        again.run()
    again.deny("call_1")
    again.user("never mind")
    assert [part.code for part in results_in(again.messages[-2])] == [None, "denied"]
    assert done == [("mail", "ann")]


@pytest.mark.parametrize(("body", "provider"), [(ASKED, "openai"), (GEMINI, "gemini")])
def test_two_processes_pay_once(tmp_path, body, provider):
    """The conversation's own id and the number of the turn are the scope, also where calls have no ids."""
    tools, done = desk()
    text = asked(tools, body, provider).to_json()
    texts = []
    with Ledger(tmp_path / "calls.db") as ledger:
        for _ in range(2):
            chat = Conversation.from_json(text, tools)
            for waiting in chat.pending:
                chat.approve(waiting)
            texts += [
                result.text for result in chat.run(ledger=ledger) if result.call.name == "refund"
            ]
            chat.user("thanks")
    assert texts == ["refunded 5"] * 2
    assert done.count(("refund", 5)) == 1


def test_equal_calls_of_two_turns_are_two(tmp_path):
    """At a provider without ids they differ by the turn alone; a response that is delivered twice is one where it has ids."""
    tools, done = desk()
    chat = Conversation(tools)
    chat.user("again and again")
    with Ledger(tmp_path / "calls.db") as ledger:
        for _ in range(2):
            chat.dispatch(GEMINI, provider="gemini", ledger=ledger)
            chat.approve(chat.pending)
            chat.run(ledger=ledger)
        assert done == [("refund", 5)] * 2
        done.clear()
        for _ in range(2):
            chat.dispatch(ASKED, provider="openai", ledger=ledger)
            if chat.pending:
                chat.deny(chat.pending)
    assert done == [("mail", "ann")]


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
def test_paused_here_and_resumed_there(in_loop, is_stored):
    """The token has the decision, the stored conversation what was said."""
    tools, done = desk()
    chat = asked(tools)
    options = {"audience": "ann", "expires": DAY}
    token = asyncio.run(chat.apause(KEY, **options)) if in_loop else chat.pause(KEY, **options)
    with pytest.raises(UsageError, match="still waits"):
        chat.user("and?")
    there = Conversation.from_json(chat.to_json(), tools) if is_stored else chat
    for wrong, error in (("{}", TokenError), (json.dumps({"calls": [{"id": "x"}]}), UsageError)):
        with pytest.raises(error):
            there.resume(wrong, KEY, {}, audience="ann")
    with pytest.raises(UsageError, match=r"Deny\('yes'\)"):
        there.resume(token, KEY, {"call_1": "yes"}, audience="ann")
    decided = {"call_1": True}
    if in_loop:
        results = asyncio.run(there.aresume(token, KEY, decided, audience="ann"))
    else:
        results = there.resume(token, KEY, decided, audience="ann")
    assert outcomes(results) == ["sent", "refunded 5"]
    assert done == [("mail", "ann"), ("refund", 5)]
    there.user("thanks")
    sent = there.request("openai", model="m")["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]


def test_a_token_that_decides_nothing_leaves_the_turn_open():
    tools, done = desk()
    chat = asked(tools)
    token = chat.pause(KEY, audience="ann", expires=DAY)
    chat.resume(token, KEY, {}, audience="ann")
    assert [waiting.id for waiting in chat.pending] == ["call_1"]
    token = chat.pause(KEY, audience="ann", expires=DAY)
    assert outcomes(chat.resume(token, KEY, {"call_1": Deny("no")}, audience="ann")) == [
        "sent",
        "denied",
    ]
    assert not chat.pending
    assert done == [("mail", "ann")]


def test_a_stored_turn_that_was_changed_is_refused():
    """The calls must be those of the messages."""
    tools, _ = desk()
    body = json.loads(asked(tools).to_json())
    body["open"]["calls"][1]["id"] = "other"
    with pytest.raises(UsageError, match="the stored conversation was changed"):
        Conversation.from_json(body, tools).approve("other")
    for wrong in ({"calls": 5}, {"calls": [{}]}, []):
        with pytest.raises(UsageError, match="cannot be read"):
            Conversation.from_json({**body, "open": wrong}, tools)


def test_a_stored_conversation_without_an_open_turn_is_as_before():
    tools, _ = desk()
    chat = asked(tools)
    chat.deny(chat.pending)
    again = Conversation.from_json(chat.to_json(), tools)
    assert again.messages == chat.messages
    assert not again.pending
    assert "open" not in json.loads(again.to_json())
    assert len(calls_in(again.messages[1])) == 2


@pytest.mark.parametrize("in_loop", [False, True])
def test_whoever_asks_while_a_call_runs_does_not_close_the_turn(in_loop):
    """A tool may look at the conversation that it is called in, and so may another thread."""
    chats, stored = [], []

    @tool
    def look(n: int) -> str:
        """Look."""
        assert not chats[0].pending
        with pytest.raises(UsageError, match="look"):
            chats[0].user("meanwhile")
        stored.append(chats[0].to_json())
        return f"seen {n}"

    tools = Registry([look])
    body = response(("look", {"n": 1}), ("look", {"n": 2}))
    chats.append(Conversation(tools))
    chats[0].user("look")
    if in_loop:
        asyncio.run(chats[0].adispatch(body, provider="openai"))
    else:
        chats[0].dispatch(body, provider="openai")
    assert [part.text for part in results_in(chats[0].messages[-1])] == ["seen 1", "seen 2"]
    chats[0].user("thanks")
    if in_loop:
        return  # both run at once
    assert [[call["state"] for call in json.loads(text)["open"]["calls"]] for text in stored] == [
        ["elsewhere", "elsewhere"],
        ["answered", "elsewhere"],
    ]
    again = Conversation.from_json(stored[1], tools)
    with pytest.raises(UsageError, match=r"look \(call_1\) may have run since"):
        again.run()


def signing_in():
    """A tool that takes a secret, and what it was called with."""
    done = []

    @tool(effects=["write"], approve=lambda arguments: arguments["user"] == "root")
    def sign_in(user: str, password: SecretStr) -> str:
        """Sign in."""
        done.append((user, password.get_secret_value()))
        return "in"

    return Registry([sign_in]), done


@pytest.mark.parametrize(
    "provider", ["openai", "anthropic", "gemini", "openai-responses", "mistral", "bedrock"]
)
def test_secrets_stand_in_no_stored_conversation(provider):
    """Unless they are asked for by name; the conversation goes on without them at any provider."""
    tools, done = signing_in()
    bound = tools.bind(provider)
    chat = Conversation(tools)
    chat.user("sign in")
    given = {"user": "ann", "password": "correct horse"}
    chat.read(
        bound.calls_as_messages(
            [("sign_in", given), ("sign_in", {**given, "password": ["correct horse"]})]
        ),
        provider,
    )
    chat.read(bound.calls_as_messages([("sign_in", given)]), provider)
    assert "correct horse" in chat.to_json(secrets=True)
    text = chat.to_json()
    assert "correct horse" not in text
    assert "[hidden]" in text
    again = Conversation.from_json(text, tools)
    again.user("on")
    for other in (provider, "openai", "anthropic"):
        assert "correct horse" not in json.dumps(again.request(other, model="m"), default=str)
    body = response(("sign_inn", given))
    chat = Conversation(tools)
    chat.user("sign in")
    chat.dispatch(body, provider="openai")
    assert "correct horse" not in chat.to_json()
    assert not done


def test_a_call_with_a_secret_that_waits_is_resumed_by_a_token(tmp_path):
    """What the model wrote is in the ledger, and nowhere else."""
    tools, done = signing_in()
    chat = asked(tools, response(("sign_in", {"user": "root", "password": "correct horse"})))
    text = chat.to_json()
    assert "correct horse" not in text
    with pytest.raises(UsageError, match="with the token from pause"):
        Conversation.from_json(text, tools).approve("call_0")
    with Ledger(tmp_path / "calls.db") as ledger:
        token = chat.pause(KEY, audience="a", expires=DAY, ledger=ledger)
        again = Conversation.from_json(text, tools)
        results = again.resume(token, KEY, {"call_0": True}, audience="a", ledger=ledger)
    assert outcomes(results) == ["in"]
    assert done == [("root", "correct horse")]
    again.user("thanks")
    assert again.request("openai", model="m")["messages"][-1]["content"] == "thanks"


def test_a_turn_that_goes_on_with_what_the_assistant_said_before():
    """What was said in an earlier response is no part of the turn, also at a provider whose messages are items."""
    tools, _ = desk()
    said = {
        "type": "message",
        "role": "assistant",
        "id": "m1",
        "content": [{"type": "output_text", "text": "Wait."}],
    }
    call = {
        "type": "function_call",
        "id": "f1",
        "call_id": "c1",
        "name": "refund",
        "arguments": '{"amount": 5}',
    }
    chat = Conversation(tools)
    chat.user("refund")
    for items in ([said], [call]):
        chat.dispatch(
            {"object": "response", "status": "completed", "output": items},
            provider="openai-responses",
        )
    again = Conversation.from_json(chat.to_json(), tools)
    again.approve("c1")
    assert again.plan().results._assistant == [call]
    again.deny("c1")
    assert [message.role for message in again] == ["user", "assistant", "assistant", "tool"]


def test_two_threads_do_not_open_two_turns():
    """The second is refused, and the calls of the first are kept."""
    tools, done = desk()
    chat = Conversation(tools)
    chat.user("go")
    plans = [chat.plan(ASKED, provider="openai") for _ in range(2)]
    for plan in plans:
        plan.run()
    chat += plans[0].results
    with pytest.raises(UsageError, match="still waits"):
        chat += plans[1].results
    assert [waiting.id for waiting in chat.pending] == ["call_1"]
    assert [message.role for message in chat] == ["user", "assistant", "tool"]
    body = json.loads(chat.to_json())
    for call in body["open"]["calls"]:
        call["state"] = "answered"
    ended = Conversation.from_json(body, tools)
    assert not ended.pending
    assert "open" not in json.loads(ended.to_json())
    assert len(done) == 2


def test_a_turn_that_ends_with_a_denial_can_be_run():
    """An application that decides and then runs need not know whether anything is left to run."""
    tools, done = desk()
    chat = asked(tools)
    chat.deny(chat.pending, "no")
    for _ in range(2):
        assert outcomes(chat.run()) == ["sent", "denied"]
    chat.user("Thanks.")
    with pytest.raises(UsageError, match="the turn is not open"):
        chat.run()
    assert done == [("mail", "ann")]


def test_a_scope_without_a_ledger_is_of_no_matter():
    """The same code runs where there is no ledger, as in development."""
    tools, done = desk()
    tools.dispatch(ASKED, provider="openai", scope="chat 7, turn 1")
    assert done == [("mail", "ann")]


class Counted(BaseModel):
    n: int


def test_an_output_that_a_refused_request_names_reads_the_call_at_the_end():
    """A stored history may end with the call of an answer whose result was lost: nothing else can name its type."""
    function = {"name": "Counted", "arguments": '{"n": 3}'}
    call = {"id": "c1", "type": "function", "function": function}
    chat = Conversation(Registry([]))
    question = {"role": "user", "content": "How many?"}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    chat.read([question, answer], "groq")
    with pytest.raises(HistoryError):
        chat.request("groq", model="m", output=Counted)
    results = chat.dispatch()
    assert (results[0].text, results.output.value) == ("received", Counted(n=3))
