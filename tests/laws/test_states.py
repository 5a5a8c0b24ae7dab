"""The law of states, by a machine: whatever is decided, run, cancelled, paused and delivered again, no call runs twice.

An answer never changes, and a call that waits for approval is never dropped. ``TOOLSHAPE_STATES`` says how many runs of
the machine are made.
"""

import asyncio
import json
import os
import tempfile
import threading
from datetime import timedelta
from pathlib import Path

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from responses import response

from toolshape import Deny, Registry, TokenError, UsageError, tool
from toolshape._plan.ledger_store import Claim
from toolshape.ledger import Ledger

FEW = bool(os.environ.get("TOOLSHAPE_EXAMPLES"))
RUNS = int(os.environ.get("TOOLSHAPE_STATES", "40" if FEW else "200"))
KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)
LIMIT = 100  # from here on a payment has to be approved of
AMOUNTS = (5, 500, 7, 700)
KINDS = ("pay_here", "pay_here", "pay_there", "pay_there")
BODY = response(*((kind, {"amount": amount}) for kind, amount in zip(KINDS, AMOUNTS, strict=True)))
CALLS = st.integers(0, len(AMOUNTS) - 1)


class Table:
    """A ledger in memory, written from the protocol: what it says does not come from ours."""

    wait = 0.0

    def __init__(self):
        self.rows, self.texts, self.lock = {}, {}, threading.Lock()

    def _known(self, identity):
        row = self.rows.get((identity.scope, identity.call_id))
        if row is None:
            return None
        if row["what"] != (identity.tool, identity.digest):
            return Claim("other")
        return Claim(row["state"], outcome=row.get("outcome", ""))

    def look(self, identity):
        with self.lock:
            return self._known(identity)

    def claim(self, identity, *, again):
        with self.lock:
            known = self._known(identity)
            if known is None or (known.state == "unknown" and again):
                self.rows[identity.scope, identity.call_id] = {
                    "what": (identity.tool, identity.digest), "state": "running",
                }  # fmt: skip
                return Claim("ours", "somebody")
            return known

    def finish(self, identity, owner, outcome):
        with self.lock:
            self.rows[identity.scope, identity.call_id].update(state="done", outcome=outcome)

    def drop(self, identity, owner, *, has_begun):
        with self.lock:
            if has_begun:
                self.rows[identity.scope, identity.call_id]["state"] = "unknown"
            else:
                del self.rows[identity.scope, identity.call_id]

    def keep(self, token_id, text):
        self.texts[token_id] = text

    def kept(self, token_id):
        return self.texts.get(token_id)


class Life(RuleBasedStateMachine):
    """One response, delivered as often as you like, under one ledger."""

    def ledger(self):
        """Where calls are written down."""
        return Table()

    def __init__(self):
        super().__init__()
        self.effects = []
        self.plans, self.tokens, self.seen, self.held = [], [], {}, {}
        self.approved = set()
        self.store = self.ledger()

        def asks(arguments):
            return arguments["amount"] >= LIMIT

        @tool(effects=["write"], approve=asks)
        def pay_here(amount: int) -> str:
            """Pay."""
            self.effects.append(("pay_here", amount))
            return f"paid {amount}"

        @tool(effects=["write"], approve=asks)
        async def pay_there(amount: int) -> str:
            """Pay."""
            self.effects.append(("pay_there", amount))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return f"paid {amount}"

        self.tools = Registry([pay_here, pay_there])

    @rule()
    def deliver(self):
        self.plans.append(self.tools.plan(BODY))

    @precondition(lambda self: self.plans)
    @rule(
        at=st.integers(0, 9),
        call=CALLS,
        decision=st.sampled_from(["approve", "deny", "edit", "edit more"]),
    )
    def decide(self, at, call, decision):
        plan = self.plans[at % len(self.plans)]
        try:
            if decision == "approve":
                plan.approve(f"call_{call}")
                self.approved.add((KINDS[call], plan.calls[call].arguments["amount"]))
            elif decision == "deny":
                plan.deny(f"call_{call}", "no")
            else:
                plan.edit(
                    f"call_{call}", {"amount": 50 + call if decision == "edit" else 900 + call}
                )
        except UsageError as error:
            assert any(said in str(error) for said in ("answered", "running", "paused")), error
        else:
            self.held.pop((id(plan), call), None)

    @precondition(lambda self: self.plans)
    @rule(
        at=st.integers(0, 9),
        way=st.sampled_from(["here", "loop", "threads", "cancelled"]),
        turns=st.integers(0, 8),
        only=st.none() | st.sets(CALLS, max_size=2),
        limit=st.sampled_from([None, 1]),
    )
    def run_some(self, at, way, turns, only, limit):
        plan = self.plans[at % len(self.plans)]
        options = {"ledger": self.store, "limit": limit}
        options["only"] = None if only is None else [f"call_{n}" for n in sorted(only)]
        if way == "here":
            plan.run(**options)
        elif way == "loop":
            asyncio.run(plan.arun(**options))
        elif way == "threads":
            threads = [threading.Thread(target=plan.run, kwargs=options) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            asyncio.run(self._cancelled(plan, turns, options))

    async def _cancelled(self, plan, turns, options):
        task = asyncio.ensure_future(plan.arun(**options))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    @precondition(lambda self: self.plans)
    @rule(at=st.integers(0, 9))
    def pause(self, at):
        plan = self.plans[at % len(self.plans)]
        try:
            self.tokens.append(plan.pause(KEY, audience="a", expires=DAY))
        except UsageError as error:
            assert any(said in str(error) for said in ("paused before", "nothing to pause")), error
        else:
            before = len(self.effects)
            plan.run()  # whoever has the token runs them
            assert len(self.effects) == before

    @precondition(lambda self: self.tokens)
    @rule(
        at=st.integers(0, 9),
        decisions=st.dictionaries(
            CALLS, st.sampled_from([True, Deny("no"), {"amount": 60}, {"amount": 960}])
        ),
        in_loop=st.booleans(),
    )
    def resume(self, at, decisions, in_loop):
        token = self.tokens[at % len(self.tokens)]
        for number, decision in decisions.items():
            if decision is True:
                amount = json.loads(token)["calls"][number].get("arguments", {}).get("amount", 0)
                self.approved.add((KINDS[number], amount))
        given = (token, KEY, {f"call_{n}": decision for n, decision in decisions.items()})
        try:
            if in_loop:
                results = asyncio.run(self.tools.aresume(*given, audience="a", ledger=self.store))
            else:
                results = self.tools.resume(*given, audience="a", ledger=self.store)
        except TokenError as error:
            assert error.rule == "used"
        except UsageError as error:
            assert "is answered" in str(error), error
        else:
            if results.pending:
                self.plans.append(self.tools.plan(results))

    @invariant()
    def no_call_ran_twice(self):
        """Four calls were made, however often: of each kind two, at most."""
        assert len(self.effects) <= len(AMOUNTS)
        assert sum(kind == "pay_here" for kind, _ in self.effects) <= KINDS.count("pay_here")

    @invariant()
    def what_has_to_be_approved_of_was(self):
        """With the arguments that it ran with."""
        assert all(effect in self.approved for effect in self.effects if effect[1] >= LIMIT)

    @invariant()
    def an_answer_never_changes(self):
        for plan in self.plans:
            for position, result in enumerate(plan.results._answers):
                before = self.seen.get((id(plan), position))
                if before is not None:
                    assert result is before
                elif result is not None:
                    self.seen[id(plan), position] = result
                if result is not None and result.error is not None:
                    assert (
                        result.error.code != "duplicate_call"
                    )  # a call is known by what the model wrote
                if result is not None and result.ok:
                    assert (KINDS[position], int(result.text.removeprefix("paid "))) in self.effects

    @invariant()
    def what_waits_is_not_dropped(self):
        """A call that waited and that nobody decided on waits, or the ledger had its answer."""
        for plan in self.plans:
            pending = {int(item.id.removeprefix("call_")) for item in plan.pending}
            for position in range(len(AMOUNTS)):
                if position in pending:
                    self.held[id(plan), position] = True
                elif self.held.pop((id(plan), position), False):
                    answer = plan.results._answers[position]
                    assert answer is not None
                    assert answer.replayed or answer.error.code == "unknown_outcome"


class LifeInDatabase(Life):
    """The same under SQLite."""

    def ledger(self):
        self.folder = tempfile.TemporaryDirectory()
        return Ledger(Path(self.folder.name) / "calls.db", wait=0)

    def teardown(self):
        self.store.close()
        self.folder.cleanup()


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=RUNS, stateful_step_count=25, deadline=None, database=None
)
TestLifeInDatabase = LifeInDatabase.TestCase
TestLifeInDatabase.settings = settings(
    max_examples=max(RUNS // 20, 5), stateful_step_count=15, deadline=None, database=None
)
