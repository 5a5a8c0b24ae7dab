"""The states of the calls of a plan: the table, and what it means to whoever uses a plan."""

import ast
import asyncio
import pickle
import threading
from datetime import timedelta

import pytest
from house import TREES
from responses import outcomes, response

from toolshape import Registry, UsageError, tool
from toolshape._plan import state
from toolshape._plan.state import TRANSITIONS
from toolshape.ledger import Ledger

KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)
FINAL = {"refused", "denied", "answered", "unknown", "cancelled"}
OPEN = ("ready", "pending", "approved", "elsewhere")
# Written by hand from the rule, not from the table: from which states each event is possible, and where it leads.
RULES = {
    "hold": {"ready": "pending"},
    "release": {"pending": "ready"},
    "approve": dict.fromkeys(OPEN, "approved"),
    "deny": dict.fromkeys(OPEN, "denied"),
    "withdraw": dict.fromkeys((*OPEN, "claimed", "asking"), "denied"),
    "edit": dict.fromkeys(OPEN, "ready"),
    "edit and hold": dict.fromkeys(OPEN, "pending"),
    "give away": dict.fromkeys(OPEN, "given away"),
    "take back": {"given away": "ready"},
    "take back pending": {"given away": "pending"},
    "take back approved": {"given away": "approved"},
    "take back elsewhere": {"given away": "elsewhere"},
    "claim": {"ready": "claimed", "approved": "claimed"},
    "return": {"claimed": "ready", "asking": "ready", "elsewhere": "ready"},
    "return approved": {"claimed": "approved", "asking": "approved"},
    "ask": {"claimed": "asking"},
    "begin": {"claimed": "running", "asking": "running"},
    "answer": dict.fromkeys((*OPEN, "asking", "running"), "answered"),
    "lose": dict.fromkeys((*OPEN, "asking", "running"), "unknown"),
    "break off": {"running": "cancelled"},
}


def test_the_table_is_the_rule():
    """Each row is there, and no row that the rule does not have."""
    table = {
        (before, event, after)
        for before, row in TRANSITIONS.items()
        for event, after in row.items()
    }
    assert table == {
        (before, event, after) for event, row in RULES.items() for before, after in row.items()
    }
    assert {name for name, row in TRANSITIONS.items() if not row} == FINAL


STATE = {
    "_answers",
    "_waiting",
    "_controls",
    "states",
    "in_state",
    "entries",
    "approvals",
    "as_written",
    "runs",
}
# Besides the module of states: where results are made, where the inner loop of a plan without controls writes what it has
# measured, and where a plan is made of a stored turn, or its answer is read, before anybody has its results.
WRITERS = {
    ("_plan.planning", "_answers"), ("_plan.planning", "_waiting"), ("_plan.planning", "_controls"), ("_plan.running", "_answers"),
    ("_plan.restore", "_answers"), ("_answers.target", "_answers"),
}  # fmt: skip


def test_no_other_module_moves_a_call():
    """Whoever writes an answer or a state of a plan is the module of states, or is listed."""
    found = set()
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                continue
            flat = [
                each
                for target in targets
                for each in (target.elts if isinstance(target, ast.Tuple) else [target])
            ]
            for target in flat:
                inner = target.value if isinstance(target, ast.Subscript) else target
                is_own = (
                    isinstance(inner, ast.Attribute) and getattr(inner.value, "id", None) == "self"
                )
                if isinstance(inner, ast.Attribute) and inner.attr in STATE and not is_own:
                    found.add((name.removeprefix("toolshape."), inner.attr))
    assert {(name, attr) for name, attr in found if name != "_plan.state"} == WRITERS
    assert len({attr for name, attr in found if name == "_plan.state"}) > 5


def make(done, *, asks=True):
    @tool(effects=["write"], approve=asks)
    def pay(amount: int) -> str:
        """Pay."""
        done.append(amount)
        return f"paid {amount}"

    return Registry([pay])


def ask(*amounts):
    return response(*(("pay", {"amount": amount}) for amount in amounts))


@pytest.mark.parametrize("before", TRANSITIONS)
@pytest.mark.parametrize("event", RULES)
def test_what_the_table_does_not_have_is_refused(before, event):
    """For each state and event: the call is where the rule says, or where it was."""
    results = make([]).bind("openai").plan(ask(1)).results
    controls = state.controls_of(results)
    controls.in_state = {before: {0}}
    controls.states[0] = before
    if before in RULES[event]:
        assert state.move(controls, 0, event) == controls.states[0] == RULES[event][before]
        assert controls.in_state[RULES[event][before]] == {0}
    else:
        with pytest.raises(AssertionError, match="cannot take the event"):
            state.move(controls, 0, event)
        assert controls.states[0] == before


def test_a_plan_gets_controls_when_somebody_decides():
    """Until then its calls are in one list, which a run takes away."""
    done = []
    plan = make(done, asks=False).bind("openai").plan(ask(1, 2))
    assert plan.results._controls is None
    assert [state.state_of(plan.results, at) for at in (0, 1)] == ["ready", "ready"]
    plan.run(only=["call_0"])
    assert [state.state_of(plan.results, at) for at in (0, 1)] == ["answered", "ready"]
    assert outcomes(plan.results) == ["paid 1", "not_run"]
    plan.run()
    assert done == [1, 2]


def test_a_call_that_was_not_begun_when_the_run_was_broken_off_runs_later():
    """One that had begun does not: it reads as cancelled."""
    done = []

    @tool(effects=["write"])
    def pay(amount: int) -> str:
        """Pay."""
        if amount == 2 and len(done) == 1:
            done.append(2)
            raise KeyboardInterrupt
        done.append(amount)
        return f"paid {amount}"

    for controls in (False, True):
        done.clear()
        plan = Registry([pay]).bind("openai").plan(ask(1, 2, 3))
        if controls:
            plan.approve("call_2")
        with pytest.raises(KeyboardInterrupt):
            plan.run()
        assert outcomes(plan.results) == ["paid 1", "cancelled", "not_run"]
        plan.run()
        assert done == [1, 2, 3]
        assert outcomes(plan.results) == ["paid 1", "cancelled", "paid 3"]


@pytest.mark.parametrize("limit", [None, 1])
def test_a_call_that_a_loop_had_not_begun_runs_later(limit):
    """A task that was cancelled before its first step has run nothing."""
    done = []

    @tool(effects=["read"])
    async def look(n: int) -> str:
        """Look."""
        done.append(n)
        await asyncio.sleep(0)
        return f"seen {n}"

    async def main():
        plan = (
            Registry([look]).bind("openai").plan(response(("look", {"n": 1}), ("look", {"n": 2})))
        )
        plan.approve(plan.calls)  # so that it has controls
        task = asyncio.ensure_future(plan.arun(limit=limit))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        begun = len(done)
        await plan.arun()
        return begun, outcomes(plan.results)

    begun, shown = asyncio.run(main())
    assert sorted(done) == [1, 2]
    assert shown == ["cancelled"] * begun + [f"seen {n}" for n in (1, 2)][begun:]


def test_an_edit_ends_an_approval():
    """A call that was approved, then edited to arguments that nobody is asked about, was not approved as it is now."""

    @tool(approve=lambda arguments: arguments["amount"] > 9)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    plan = Registry([pay]).plan(ask(10, 20))
    plan.approve(["call_0", "call_1"])
    plan.edit("call_0", {"amount": 1})
    claimed = state.claim(plan.results, state.claimable(plan.results))
    with state.open_run(plan.results, claimed):
        pass  # it was broken off before a call began
    assert [state.state_of(plan.results, at) for at in (0, 1)] == ["ready", "approved"]


def test_two_threads_share_the_calls_of_a_plan():
    """Each call runs in one of them."""
    for decides in (False, True):
        done = []
        plan = make(done, asks=False).bind("openai").plan(ask(*range(200)))
        if decides:
            plan.approve("call_7")
        threads = [threading.Thread(target=plan.run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == list(range(200))


def test_a_plan_may_get_its_controls_while_it_runs():
    """Whoever decides on a call meanwhile is told that it is running, and the run goes on."""
    plans, said, done = [], [], []

    @tool
    def look(n: int) -> str:
        """Look."""
        if n == 1:
            with pytest.raises(UsageError, match="is running, or was interrupted") as caught:
                plans[0].deny("call_2")
            said.append(caught.value)
        done.append(n)
        return f"seen {n}"

    plans.append(
        Registry([look]).bind("openai").plan(response(*(("look", {"n": n}) for n in range(3))))
    )
    assert outcomes(plans[0].run()) == ["seen 0", "seen 1", "seen 2"]
    assert len(said) == 1
    ready = state.claim(plans[0].results, [])
    assert ready == []
    for _ in range(50):  # between the claim and the first call, too
        plan = (
            Registry([look])
            .bind("openai")
            .plan(response(*(("look", {"n": n}) for n in (0, 2, 3, 4))))
        )
        thread = threading.Thread(
            target=lambda plan=plan: [state.controls_of(plan.results), plan.run()]
        )
        thread.start()
        plan.run()
        thread.join()
        plan.run()
        assert outcomes(plan.results) == ["seen 0", "seen 2", "seen 3", "seen 4"]


def test_what_a_token_says_is_what_was_decided():
    """The rule is not asked when the plan is paused: it may have changed since, and may fail."""
    asks, done = [False], []

    @tool(effects=["write"], approve=lambda _: asks[0])
    def pay(amount: int) -> str:
        """Pay."""
        done.append(amount)
        return "paid"

    tools = Registry([pay])
    plan = tools.plan(ask(1))
    asks[0] = True
    token = plan.pause(KEY, audience="a", expires=DAY)
    assert outcomes(tools.resume(token, KEY, {}, audience="a")) == ["pending"]
    assert not done
    plan = tools.plan(ask(2))
    plan.approve("call_0")
    asks[0] = False
    token = plan.pause(KEY, audience="a", expires=DAY)
    asks[0] = True
    assert outcomes(tools.resume(token, KEY, {}, audience="a")) == ["paid"]
    assert done == [2]


@pytest.mark.parametrize("in_loop", [False, True])
def test_the_ledger_is_asked_before_a_person_is(tmp_path, in_loop):
    """What is done is answered, and nobody is asked; what is not known waits."""
    done = []
    tools = make(done)

    def run(plan, **options):
        return asyncio.run(plan.arun(**options)) if in_loop else plan.run(**options)

    with Ledger(tmp_path / "calls.db") as ledger:
        plan = tools.plan(ask(5, 6))
        plan.approve("call_0")
        run(plan, ledger=ledger, scope="s")
        again = tools.plan(ask(5, 6))
        assert outcomes(run(again, ledger=ledger, scope="s")) == ["paid 5", "pending"]
        assert [result.replayed for result in again.results] == [True, False]
        assert [item.id for item in again.pending] == ["call_1"]
        with pytest.raises(UsageError, match="is answered"):
            again.deny("call_0")
    assert done == [5]


def test_an_edited_payment_that_is_delivered_again_is_paid(tmp_path):
    """The ledger knows it by what the model wrote, across edits, tokens and deliveries."""
    done = []
    tools = make(done)
    with Ledger(tmp_path / "calls.db") as ledger:
        plan = tools.plan(ask(500))
        plan.edit("call_0", {"amount": 70})
        token = plan.pause(KEY, audience="a", expires=DAY)
        results = tools.resume(token, KEY, {"call_0": {"amount": 50}}, audience="a", ledger=ledger)
        again = tools.plan(results)
        again.approve(again.pending)
        assert outcomes(again.run(ledger=ledger)) == ["paid 50"]
        for _ in range(2):
            assert outcomes(tools.dispatch(ask(500), ledger=ledger)) == ["paid 50"]
        late = tools.plan(ask(500))
        late.approve("call_0")
        assert outcomes(late.run(ledger=ledger)) == ["paid 50"]
    assert done == [50]


def test_a_call_that_the_ledger_cannot_be_asked_about_runs_later(tmp_path):
    """Nothing has run: the plan runs it once the ledger is there again."""
    done, is_down = [], [True]
    tools = make(done, asks=False)

    class Broken(Ledger):
        def claim(self, identity, *, again):
            if is_down[0]:
                raise ConnectionError("away")
            return super().claim(identity, again=again)

    with Broken(tmp_path / "calls.db") as ledger:
        plan = tools.plan(ask(1))
        assert outcomes(plan.run(ledger=ledger)) == ["not_run"]
        is_down[0] = False
        assert outcomes(plan.run(ledger=ledger)) == ["paid 1"]
    assert done == [1]


def test_pickled_results_say_what_was_not_run():
    """A state means nothing in another process but for what may be said of the call."""
    plan = make([]).bind("openai").plan(ask(1, 2, 3))
    plan.approve("call_0")
    plan.deny("call_2")
    for results in (plan.results, pickle.loads(pickle.dumps(plan.results))):
        kept = pickle.loads(pickle.dumps(results))
        assert outcomes(kept) == ["not_run", "pending", "denied"]
        assert [item.id for item in kept.pending] == ["call_1"]
        with pytest.raises(UsageError):
            make([]).plan(kept)
