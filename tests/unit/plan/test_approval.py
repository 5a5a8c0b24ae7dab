"""Calls that wait for approval: what runs is what was approved of, and half an answer is not sendable."""

import asyncio
import json
import logging
import pickle
import threading

import pytest
from pydantic import SecretStr
from responses import outcomes, response

from toolshape import (
    CallError,
    Conversation,
    DefinitionError,
    Injected,
    PendingCall,
    Registry,
    Tool,
    UsageError,
    tool,
)

RAN = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@tool(effects=["write"], approve=lambda arguments: arguments["amount"] > 100)
def pay(amount: int, to: str = "bob") -> str:
    """Pay."""
    RAN.append(("pay", amount, to))
    return f"paid {amount} to {to}"


@tool(approve=True)
async def drop(name: str) -> str:
    """Drop."""
    RAN.append(("drop", name))
    return "dropped"


@tool
def look(n: int) -> int:
    """Look."""
    RAN.append(("look", n))
    return n


TOOLS = Registry([pay, drop, look])
BODY = response(
    ("drop", {"name": "x"}),
    ("look", {"n": 1}),
    ("pay", {"amount": "500"}),
    ("pay", {"amount": 5}),
    ("pay", {"amount": "x"}),
)


def run(plan, how):
    return plan.run() if how == "run" else asyncio.run(plan.arun())


def dispatch(how, body=BODY, tools=TOOLS):
    return tools.dispatch(body) if how == "run" else asyncio.run(tools.adispatch(body))


EACH_WAY = pytest.mark.parametrize("how", ["run", "arun"])


@EACH_WAY
def test_dispatch_runs_what_may_run(how):
    """The rest is pending, and no half of an answer can be sent."""
    results = dispatch(how)
    assert outcomes(results) == ["pending", 1, "pending", "paid 5 to bob", "invalid_arguments"]
    assert sorted(RAN) == [("look", 1), ("pay", 5, "bob")]
    assert [(item.id, item.name, item.arguments) for item in results.pending] == [
        ("call_0", "drop", {"name": "x"}),
        ("call_2", "pay", {"amount": 500, "to": "bob"}),
    ]
    assert [coercion.rule for coercion in results.pending[1].coercions] == ["number_text"]
    for half in ("messages", "turn"):
        with pytest.raises(
            UsageError, match=r"calls still wait for approval: drop \(call_0\), pay \(call_2\);"
        ):
            getattr(results, half)
    assert not results.ok
    assert "is waiting for approval and was not run" in str(results)


@EACH_WAY
def test_what_was_approved_of_runs_and_the_rest_does_not_run_again(how):
    plan = TOOLS.plan(dispatch(how))
    plan.approve(plan.pending)
    results = run(plan, how)
    assert outcomes(results) == [
        "dropped",
        1,
        "paid 500 to bob",
        "paid 5 to bob",
        "invalid_arguments",
    ]
    assert sorted(RAN) == [("drop", "x"), ("look", 1), ("pay", 5, "bob"), ("pay", 500, "bob")]
    assert len(results.messages) == 5
    assert not results.pending
    assert run(plan, how) is results
    assert len(RAN) == 4


@EACH_WAY
def test_one_that_is_denied_takes_no_other_with_it(how):
    """The model reads why; a tool that was denied is not run."""
    plan = TOOLS.bind("openai").plan(BODY)
    plan.deny("call_0", "we keep everything")
    plan.approve("call_2")
    results = run(plan, how)
    assert outcomes(results) == [
        "denied",
        1,
        "paid 500 to bob",
        "paid 5 to bob",
        "invalid_arguments",
    ]
    assert ("drop", "x") not in RAN
    assert results[0].text == "drop was not allowed and was not run: we keep everything"
    assert "we keep everything" in results.messages[0]["content"]
    assert results[0].arguments == {"name": "x"}
    assert not results[0].error.retryable


def test_denied_without_a_reason_reads_as_a_sentence():
    plan = TOOLS.plan(BODY)
    plan.deny("call_0")
    assert plan.results[0].text == "drop was not allowed and was not run."


@EACH_WAY
def test_an_edit_is_validated_and_asked_of_anew(how):
    """Other arguments may need no approval; those that need it wait, whatever was approved of before."""
    plan = TOOLS.plan(BODY)
    [before] = [item for item in plan.pending if item.id == "call_2"]
    small = plan.edit(before, {"amount": 50, "to": "eve"})
    assert [item.id for item in plan.pending] == ["call_0"]
    large = plan.edit(small, {"amount": "700"})
    assert [item.id for item in plan.pending] == ["call_0", "call_2"]
    assert plan.pending[1].arguments == {"amount": 700, "to": "bob"}
    for old in (before, small):
        with pytest.raises(UsageError, match="not a call of this plan"):
            plan.approve(old)
    plan.approve(large)
    results = run(plan, how)
    assert results[2].value == "paid 700 to bob"
    assert results[2].arguments == {"amount": 700, "to": "bob"}
    assert results[2].call.raw["function"]["arguments"] == '{"amount": "500"}'


def test_an_approved_call_that_is_edited_waits_again():
    plan = TOOLS.plan(BODY)
    plan.approve("call_2")
    assert [item.id for item in plan.pending] == ["call_0"]
    plan.edit("call_2", {"amount": 800})
    assert [item.id for item in plan.pending] == ["call_0", "call_2"]


def test_an_edit_that_the_tool_does_not_take_changes_nothing():
    plan = TOOLS.plan(BODY)
    with pytest.raises(CallError, match="expected integer") as caught:
        plan.edit("call_2", {"amount": "much"})
    assert caught.value.code == "invalid_arguments"
    assert plan.pending[1].arguments == {"amount": 500, "to": "bob"}
    with pytest.raises(UsageError, match="takes the arguments as a dict"):
        plan.edit("call_2", '{"amount": 1}')


def test_an_edit_is_in_canonical_form_at_a_strict_provider():
    """The wire form of a map is a list of entries; a person writes a map."""

    @tool(approve=True)
    def label(names: dict[str, int]) -> dict[str, int]:
        """Label."""
        return names

    plan = (
        Registry([label])
        .bind("openai", strict=True)
        .plan(response(("label", {"names": [{"key": "a", "value": 1}]})))
    )
    assert plan.pending[0].arguments == {"names": {"a": 1}}
    plan.approve(plan.edit("call_0", {"names": {"b": 2}}))
    [result] = plan.run()
    assert result.value == result.arguments["names"] == {"b": 2}
    assert result.call.arguments == {"names": {"b": 2}}


def test_a_hook_that_calls_on_twice_runs_what_was_edited():
    """The arguments are made anew for the second run: of the call as it was edited."""

    @tool(approve=True)
    def drain(items: list[int]) -> int:
        """Drain."""
        RAN.append(list(items))
        items.clear()
        return len(items)

    tools = Registry([drain])
    tools.around(lambda _, proceed: (proceed(), proceed())[1])
    plan = tools.plan(response(("drain", {"items": [1]})), provider="openai")
    plan.approve(plan.edit("call_0", {"items": [7, 8]}))
    plan.run()
    assert RAN == [[7, 8], [7, 8]]


@pytest.mark.parametrize(
    ("decide", "said"),
    [
        (lambda plan: plan.approve("call_9"), "not a call of this plan"),
        (lambda plan: plan.approve(5), "takes calls from plan.calls"),
        (lambda plan: plan.approve("call_4"), "which is answered"),
        (lambda plan: plan.deny("call_4"), "which is answered"),
        (lambda plan: plan.deny("call_0", None), "takes the reason for the model as a string"),
        (lambda plan: plan.edit("call_4", {}), "which is answered"),
        (lambda plan: plan.edit(["call_0", "call_2"], {"name": "y"}), "takes one call"),
        (lambda plan: plan.approve(TOOLS.plan(BODY).pending), "not a call of this plan"),
    ],
)
def test_a_decision_that_cannot_be_meant_is_refused(decide, said):
    plan = TOOLS.plan(BODY)
    with pytest.raises(UsageError, match=said):
        decide(plan)
    assert [item.id for item in plan.pending] == ["call_0", "call_2"]


def test_a_call_that_has_run_cannot_be_decided_on():
    plan = TOOLS.plan(dispatch("run"))
    for decide in (plan.approve, plan.deny):
        with pytest.raises(UsageError, match="which is answered"):
            decide("call_3")


def test_approving_what_waits_for_nobody_is_no_mistake():
    plan = TOOLS.plan(BODY)
    plan.approve(plan.calls[1])
    plan.deny(plan.calls[3], "not now")
    assert outcomes(plan.run())[1:] == [1, "pending", "denied", "invalid_arguments"]


def test_only_does_not_run_what_waits():
    plan = TOOLS.plan(BODY)
    assert outcomes(plan.run(only=["call_0", "call_1"]))[:3] == ["pending", 1, "pending"]


def test_two_calls_with_one_id_are_decided_on_together():
    """By the id, which is all that some people have; by the call, each by itself."""
    plan = TOOLS.plan(
        response(("drop", {"name": "a"}, "same"), ("drop", {"name": "b"}, "same")),
        provider="openai",
    )
    plan.deny(plan.pending[0])
    assert [item.arguments for item in plan.pending] == [{"name": "b"}]
    with pytest.raises(UsageError, match="is answered"):
        plan.approve("same")
    plan.approve(plan.pending[0])
    assert outcomes(plan.run()) == ["denied", "dropped"]


def test_a_rule_that_fails_asks_for_approval(caplog):
    """It is logged, and nothing runs that somebody should have been asked of."""

    def rule(arguments):
        raise KeyError("no such thing")

    @tool(approve=rule)
    def send(text: str) -> str:
        """Send."""
        return text

    with caplog.at_level(logging.ERROR, logger="toolshape"):
        results = Registry([send]).dispatch(response(("send", {"text": "a"})))
    assert outcomes(results) == ["pending"]
    assert "approve= of 'send' failed" in caplog.text


def test_a_rule_gets_what_the_function_gets_and_cannot_change_it():
    seen = []

    def rule(arguments):
        seen.append(dict(arguments))
        arguments["n"] = 99
        return False

    @tool(approve=rule)
    def count(n: int, step: int = 1) -> int:
        """Count."""
        return n + step

    assert outcomes(Registry([count]).dispatch(response(("count", {"n": "3"})))) == [4]
    assert seen == [{"n": 3, "step": 1}]


@pytest.mark.parametrize("wrong", ["yes", 1, None, {"amount": 5}])
def test_what_is_no_decision_is_refused_at_the_tool(wrong):
    with pytest.raises(DefinitionError, match="approve: must be True, False, or a function"):
        tool(approve=wrong)(lambda n: n)


def test_an_async_rule_is_refused_at_the_tool():
    async def rule(arguments):
        return False

    with pytest.raises(DefinitionError, match="not async"):
        tool(approve=rule)(lambda n: n)


def test_calling_a_tool_by_itself_refuses_what_would_wait():
    """There is nobody to ask; the function itself can be called."""
    assert pay.call({"amount": 5}) == "paid 5 to bob"
    for refused in (
        lambda: pay.call({"amount": 500}),
        lambda: asyncio.run(drop.acall({"name": "x"})),
    ):
        with pytest.raises(CallError, match="is waiting for approval and was not run") as caught:
            refused()
        assert caught.value.code == "pending"
    assert pay(500) == "paid 500 to bob"


def test_a_pending_call_survives_pickling_as_what_it_is():
    results = pickle.loads(pickle.dumps(dispatch("run")))
    assert outcomes(results)[0] == "pending"
    assert [item.arguments for item in results.pending] == [
        {"name": "x"},
        {"amount": 500, "to": "bob"},
    ]
    with pytest.raises(UsageError, match="still wait"):
        results.messages
    with pytest.raises(UsageError, match="is waiting for approval"):
        TOOLS.plan(results)


def test_a_conversation_takes_no_half_of_an_answer():
    conversation = Conversation(TOOLS)
    conversation.user("Pay.")
    results = conversation.dispatch(BODY)
    with pytest.raises(UsageError, match="still wait"):
        conversation.user("And?")
    conversation += results  # they are those of the open turn
    plan = TOOLS.plan(results)
    plan.deny(plan.pending)
    conversation += plan.run()
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool"]


def test_a_stream_waits_as_a_response_does():
    collector = TOOLS.bind("openai").collector()
    delta = {
        "tool_calls": [
            {"index": 0, "id": "c1", "function": {"name": "drop", "arguments": '{"name": "x"}'}}
        ]
    }
    collector.feed({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
    collector.feed(
        {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
        }
    )
    collector.close()
    assert [item.id for item in collector.plan().pending] == ["c1"]


def test_a_plan_that_is_run_from_two_threads_runs_each_call_once():
    plan = TOOLS.plan(
        response(*[("pay", {"amount": 500 + n}) for n in range(50)]), provider="openai"
    )
    plan.approve(plan.pending)
    threads = [threading.Thread(target=plan.run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(RAN) == len(set(RAN)) == 50


def test_what_waits_is_shown_in_a_line():
    assert repr(TOOLS.plan(BODY).pending[0]) == 'PendingCall(drop, {"name": "x"}, id=\'call_0\')'
    assert isinstance(TOOLS.plan(BODY).pending[0], PendingCall)


def test_results_without_anything_pending_have_no_plan():
    with pytest.raises(UsageError, match="is waiting for approval"):
        TOOLS.plan(TOOLS.dispatch(response(("look", {"n": 1}))))


def test_an_observer_is_shown_a_response_when_it_waits_and_when_it_is_over():
    """Once each: a second run that changes nothing shows nothing."""
    seen = []

    class Watcher:
        def observe(self, bound, one):
            seen.append((one.continues, outcomes(one.outcome)))

    tools = Registry([pay, drop, look])
    tools.observe(Watcher())
    results = tools.dispatch(BODY)
    plan = tools.plan(results)
    plan.run()
    assert seen == [(False, ["pending", 1, "pending", "paid 5 to bob", "invalid_arguments"])]
    plan.deny(plan.pending)
    plan.run()
    assert seen[1:] == [(True, ["denied", 1, "denied", "paid 5 to bob", "invalid_arguments"])]


def test_an_observer_is_not_shown_a_plan_that_was_not_run():
    """Nothing has come of it yet."""
    seen = []

    class Watcher:
        def observe(self, bound, one):
            seen.append(one)

    tools = Registry([pay, drop, look])
    tools.observe(Watcher())
    tools.plan(BODY).run(only=["call_1"])
    assert seen == []  # a call is left that may run


@pytest.mark.parametrize("order", [["call_2", "call_0", "call_1"], ["call_1", "call_2", "call_0"]])
@pytest.mark.parametrize("together", [True, False])
@EACH_WAY
def test_approved_calls_run_in_the_order_of_the_response(order, together, how):
    """However they were approved: a call that writes runs after those before it."""
    plan = TOOLS.plan(response(*[("pay", {"amount": 200 + number}) for number in range(3)]))
    for given in [order] if together else order:
        plan.approve(given)
    assert outcomes(run(plan, how)) == [f"paid {200 + number} to bob" for number in range(3)]
    assert [amount for _, amount, _ in RAN] == [200, 201, 202]


@pytest.mark.parametrize("mask", ["[hidden]", str(SecretStr("x"))])
def test_an_edit_does_not_make_the_mask_of_a_secret_the_secret(mask):
    """Ours, and the one that pydantic shows."""

    @tool(approve=True)
    def log_in(password: SecretStr, name: str = "") -> str:
        """Log in."""
        return f"{name}: {password.get_secret_value()}"

    plan = Registry([log_in]).plan(response(("log_in", {"password": "horse"})))
    with pytest.raises(UsageError, match="mask of a secret"):
        plan.edit("call_0", {"password": mask})
    plan.edit("call_0", {"password": "cow", "name": mask})  # elsewhere it is a text like any other
    plan.approve("call_0")
    assert plan.run()[0].value == f"{mask}: cow"


ODD = "\u202e321-GNORW\u2066\n\r\x1b[31m\u2028\u200b\x00"


def test_what_is_shown_of_a_call_is_read_as_it_is_written():
    """Names and arguments that others wrote turn no line around, end none, and hide nothing."""
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    made = Tool.from_definition(
        {"name": f"pay{ODD}", "inputSchema": schema}, lambda to="": "paid", approve=True
    )
    tools = Registry([made])
    [entry] = tools.export("openai")
    body = response((entry["function"]["name"], {"to": ODD}), (f"nope{ODD}", {ODD: ODD}))
    body["choices"][0]["message"]["tool_calls"][0]["id"] = "call_0"
    plan = tools.plan(body)
    shown = [
        repr(plan.pending),
        repr(plan),
        repr(plan.calls),
        repr(made),
        *str(plan.results).splitlines(),
    ]
    shown += str(tools.bind("openai").report()).splitlines()
    with pytest.raises(UsageError) as refused:
        _ = plan.results.messages
    for text in [*shown, str(refused.value)]:
        assert text.isprintable(), text
    assert len(str(plan.results).splitlines()) == 2
    [pending] = plan.pending
    assert (pending.name, pending.arguments) == (
        made.name,
        {"to": ODD},
    )  # what a program reads is what came
    assert json.dumps(ODD)[1:-1] in repr(pending)


ASKED = []


def is_over_budget(arguments, inject):
    """A rule that sees who asks."""
    ASKED.append((dict(arguments), dict(inject)))
    return arguments["amount"] > inject["budget"]


@tool(approve=is_over_budget)
def spend(amount: int, *, budget: Injected[int]) -> str:
    """Spend."""
    RAN.append(("spend", amount, budget))
    return f"spent {amount}"


@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_rule_with_a_second_argument_sees_who_asks(how):
    """It is asked when the plan is run, once for each call; the same call runs for one user and waits for another."""
    body = response(("spend", {"amount": 50}), ("spend", {"amount": 500}))
    for budget, waiting in ((1000, []), (100, [500]), (10, [50, 500])):
        ASKED.clear()
        plan = Registry([spend]).bind("openai").plan(body)
        assert [call.arguments["amount"] for call in plan.pending] == [
            50,
            500,
        ]  # who asks is not known yet
        options = {"inject": {"budget": budget}}
        results = plan.run(**options) if how == "run" else asyncio.run(plan.arun(**options))
        assert [call.arguments["amount"] for call in results.pending] == waiting
        assert [entry["amount"] for entry, _ in ASKED] == [50, 500]
        plan.run(**options)
        assert len(ASKED) == 2  # a second run asks nothing again
        assert results.pending == plan.pending


def test_a_rule_with_a_second_argument_cannot_change_what_it_sees_and_fails_closed():
    """A rule that raises holds the call; what it is given is read only."""

    @tool(approve=lambda arguments, inject: inject.update(budget=9))
    def waste(amount: int, *, budget: Injected[int]) -> int:
        """Waste."""
        return amount * budget

    results = Registry([waste]).dispatch(response(("waste", {"amount": 1})), inject={"budget": 5})
    assert [call.name for call in results.pending] == ["waste"]


def test_what_was_decided_before_the_run_stands():
    """Approved or denied before the rule is asked: it is not asked any more; an edited call is asked again."""
    plan = (
        Registry([spend])
        .bind("openai")
        .plan(response(*[("spend", {"amount": amount}) for amount in (1, 2, 3)]))
    )
    first, second, third = plan.pending
    plan.approve(first)
    plan.deny(second, "no")
    plan.edit(third, {"amount": 700})
    ASKED.clear()
    results = plan.run(inject={"budget": 0})
    assert [result.error and result.error.code for result in results] == [None, "denied", "pending"]
    assert [entry["amount"] for entry, _ in ASKED] == [700]


def test_a_second_parameter_with_a_default_is_no_second_argument():
    """A threshold that an author keeps there is not overwritten."""

    @tool(approve=lambda arguments, most=100: arguments["amount"] > most)
    def give(amount: int) -> int:
        """Give."""
        return amount

    [result] = Registry([give]).dispatch(response(("give", {"amount": 5})))
    assert result.value == 5


def test_a_rule_with_a_second_argument_waits_where_nobody_asks():
    """``Tool.call`` has nobody to ask, and a paused call stays pending until somebody decides."""
    with pytest.raises(CallError) as caught:
        spend.call({"amount": 1}, inject={"budget": 10})
    assert caught.value.code == "pending"
