"""The law of turns, by a machine over a whole conversation: whatever happens, nothing runs twice, and nothing is lost.

Responses are delivered, delivered again, decided on and run, by both drivers, with a ledger or without; the conversation
is stored at any moment, also from inside a tool or while the ledger is asked, killed, and restored; it is paused and
resumed, forked, and asked for answers in two types. The oracles are the machine's own: what each tool was called with,
what had begun when a text was written, and which value was answered. ``TOOLSHAPE_TURNS`` says how many walks are made.
"""

import asyncio
import json
import os
import pickle
import uuid
from datetime import timedelta
from pathlib import Path

from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic import BaseModel, Field, SecretStr
from responses import response

from toolshape import Conversation, Deny, Injected, Registry, UsageError, tool
from toolshape._plan.ledger_store import Claim
from toolshape.trace import record_to

FEW = bool(os.environ.get("TOOLSHAPE_EXAMPLES"))
WALKS = int(os.environ.get("TOOLSHAPE_TURNS", "60" if FEW else "300"))
KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)
MARK = "hunter2"
KINDS = ("pay", "mail", "look", "late", "spend")
FAULTS = st.none() | st.tuples(
    st.sampled_from(["enter", "left", "claim"]), st.sampled_from(["save", "kill", "save, kill"])
)


def body(prefix, *calls):
    """A response whose calls have ids of their own."""
    return response(*((*call, f"{prefix}-{at}") for at, call in enumerate(calls)))


class Killed(KeyboardInterrupt):
    """The process ends here."""


class Invoice(BaseModel):
    total: float
    number: str = Field(default_factory=lambda: uuid.uuid4().hex)


class Other(BaseModel):
    total: float
    number: str = "other"


class Login(BaseModel):
    user: str
    password: SecretStr


class Book:
    """A ledger in memory, written from the protocol. What is begun when a process is killed stays begun."""

    wait = 1.0

    def __init__(self, before_claim):
        self.rows, self.texts, self.before_claim, self.is_dead = {}, {}, before_claim, False
        self.still_running = {}  # how often a row is still read as running, as if another process ended it later

    def _known(self, identity):
        key = identity.scope, identity.call_id
        row = self.rows.get(key)
        if row is None:
            return None
        if row["what"] != (identity.tool, identity.digest):
            return Claim("other")
        if self.still_running.get(key, 0) > 0:
            self.still_running[key] -= 1
            return Claim("running")
        return Claim(row["state"], outcome=row.get("outcome", ""))

    def look(self, identity):
        return self._known(identity)

    def claim(self, identity, *, again):
        self.before_claim()
        known = self._known(identity)
        if known is None or (known.state == "unknown" and again):
            what = identity.tool, identity.digest
            self.rows[identity.scope, identity.call_id] = {"what": what, "state": "running"}
            return Claim("ours", "somebody")
        return known

    def finish(self, identity, owner, outcome):
        if not self.is_dead:
            self.rows[identity.scope, identity.call_id].update(state="done", outcome=outcome)

    def drop(self, identity, owner, *, has_begun):
        if self.is_dead:
            return
        if has_begun:
            self.rows[identity.scope, identity.call_id]["state"] = "unknown"
        else:
            del self.rows[identity.scope, identity.call_id]

    def keep(self, token_id, text):
        self.texts[token_id] = text

    def kept(self, token_id):
        return self.texts.get(token_id)

    def survive(self):
        """What the killed process had begun: its lease is over."""
        self.is_dead = False
        for row in self.rows.values():
            if row["state"] == "running":
                row["state"] = "unknown"


class Turns(RuleBasedStateMachine):
    """One conversation, whatever is done with it."""

    @initialize(has_ledger=st.booleans())
    def begin(self, has_ledger):
        self.entered, self.effects, self.allowed, self.approved = {}, {}, {}, set()
        self.running, self.begun, self.wrong, self.is_undelivered = set(), set(), [], False
        self.number, self.lives, self.fault, self.saved, self.kinds = 0, 0, None, [], {}
        self.answer, self.last_body, self.scoped = None, None, []
        self.book = Book(lambda: self.meet("claim"))
        self.other_book = Book(lambda: None)
        self.options = {"ledger": self.book} if has_ledger else {}
        self.place = Path(os.environ.get("TMPDIR", "/tmp")) / f"turns-{uuid.uuid4().hex}.jsonl"

        def done(kind, n):
            self.entered[n] = self.entered.get(n, 0) + 1
            self.running.add(n)
            try:
                self.meet("enter")
                self.effects[n] = self.effects.get(n, 0) + 1
                self.meet("left")
            finally:
                self.running.discard(n)
            return f"{kind} {n}"

        @tool(effects=["write"], approve=True)
        def pay(n: int) -> str:
            """Pay."""
            return done("pay", n)

        @tool(effects=["write"])
        def mail(n: int) -> str:
            """Mail."""
            return done("mail", n)

        @tool(effects=["read"])
        def look(n: int) -> str:
            """Look."""
            return done("look", n)

        @tool(effects=["read"])
        async def late(n: int) -> str:
            """Look, and take longer."""
            self.entered.setdefault(n, 0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return done("late", n)

        @tool(effects=["write"], approve=lambda arguments, inject: arguments["n"] > inject["cap"])
        def spend(n: int, *, cap: Injected[int]) -> str:
            """Spend."""
            if n > cap and n not in self.approved:
                self.wrong.append(f"spent {n}, although the rule says that it must wait")
            return done("spend", n)

        self.tools = Registry([pay, mail, look, late, spend], outputs=[Invoice, Other, Login])
        self.tools.observe(record_to(self.place, keep="all"))
        self.chat = Conversation(self.tools)
        self.chat.user("Begin.")
        self.ask(None)
        self.save()

    # --- what happens inside of a run ------------------------------------------------------------------------------

    def meet(self, where):
        """A fault that was ordered happens: the conversation is stored here, or the process is killed, or both."""
        if self.fault is None or self.fault[0] != where:
            return
        (_, what), self.fault = self.fault, None
        if "save" in what:
            self.save()
        if "kill" in what:
            self.book.is_dead = True
            raise Killed

    def save(self):
        self.saved.append((self.chat.to_json(), set(self.running), self.answer))

    def ask(self, output, provider="groq"):
        self.chat.request(provider, model="m", **({} if output is None else {"output": output}))

    def texts(self, results, ledger=None):
        """Each call has its own result, and an unknown outcome only if its tool was entered.

        And only if the ledger of the run, which may be another one, does not know how it ended.
        """
        for result, answer in zip(results, results._answers, strict=True):
            arguments = result.call.arguments or {}
            if result.name in KINDS and result.ok:
                assert result.text == f"{result.name} {arguments['n']}", result.text
                assert self.effects.get(arguments["n"], 0) > 0
            if answer is not None and answer.error and answer.error.code == "unknown_outcome":
                assert arguments["n"] in self.entered
                rows = (ledger or self.book).rows
                done = [key[1] for key, row in rows.items() if row["state"] == "done"]
                assert result.id not in done or result.replayed, "the ledger knows how it ended"

    def going(self, work):
        """Do something that may be killed; then the conversation is what was stored last."""
        try:
            return work()
        except Killed:
            self.restore(-1)
        except UsageError as error:
            assert any(
                said in str(error)
                for said in ("may have run", "still waits", "delivered before", "turn is not open", "again=True",
                             "is answered", "no call", "answer", "takes secrets", "running", "has decided")
            ), error  # fmt: skip
        return None

    def restore(self, at):
        """The process is killed, and another one restores a stored text."""
        self.book.survive()
        self.lives += 1
        # Without a ledger, nothing knows what a process did that was killed before it stored anything.
        self.is_undelivered = bool(self.options) and at == -1
        self.last_body = self.last_body if self.is_undelivered else None
        text, begun, self.answer = self.saved[at]
        self.begun = begun
        self.chat = Conversation.from_json(text, self.tools)
        for call in json.loads(text).get("open", {}).get("calls", ()):
            n = (call["shown"] or {}).get("n")
            if n in begun and call["tool"] in ("pay", "mail", "spend"):
                assert call["state"] in ("elsewhere", "cancelled"), call

    @property
    def is_open(self):
        return hasattr(self, "chat") and bool(self.chat._waiting_calls())

    def run_options(self):
        return {**self.options, "inject": {"cap": 0}}

    # --- what is done ------------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.is_open)
    @rule(
        kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
        output=st.sampled_from([None, None, Invoice, Login]),
        in_loop=st.booleans(),
        others=st.booleans(),
        fault=FAULTS,
    )
    def deliver(self, kinds, output, in_loop, others, fault):
        self.ask(output)
        if others and output is not None:
            self.tools.bind("groq", output=Other)
            self.chat.request("anthropic", model="c", max_tokens=9)
        calls = []
        for kind in kinds:
            self.number += 1
            self.allowed[self.number], self.kinds[self.number] = 1, kind
            calls.append((kind, {"n": self.number}))
        if output is not None:
            values = {"total": 3} if output is Invoice else {"user": "ann", "password": MARK}
            calls.append((output.__name__, values))
        self.last_body, self.answer = body(f"r{self.number}", *calls), None
        self.is_undelivered = False
        self.save()
        self.fault = fault
        self.dispatch(in_loop, output)

    def dispatch(self, in_loop, output):
        def work():
            options = {**self.run_options(), "provider": "groq"}
            if in_loop:
                return asyncio.run(self.chat.adispatch(self.last_body, **options))
            return self.chat.dispatch(self.last_body, **options)

        results = self.going(work)
        if results is None:
            return
        self.texts(results)
        self.answer = None if output is None else results.output.value
        assert output is None or type(self.answer) is output

    @precondition(lambda self: not self.is_open and self.last_body)
    @rule(in_loop=st.booleans())
    def deliver_again(self, in_loop):
        """Nothing was asked since: nothing runs, and the history does not grow."""
        if self.chat._asked_since and not self.is_undelivered:
            return
        self.is_undelivered = False
        before, effects = len(self.chat), dict(self.effects)
        self.dispatch(in_loop, None if self.answer is None else type(self.answer))
        if not self.is_open:
            assert self.effects == effects or before != len(self.chat)

    @precondition(lambda self: not self.is_open)
    @rule()
    def poll(self):
        """A server that counts its ids from 0 is asked again, and the same call is a new call."""
        polled, said = body(f"call-{self.lives}", ("look", {"n": 0})), []
        self.answer = None
        for _ in range(2):
            self.ask(None)
            self.save()
            before = self.effects.get(0, 0)
            results = self.going(
                lambda: self.chat.dispatch(polled, provider="groq", **self.run_options())
            )
            if results is None:
                return
            said.append(self.effects.get(0, 0) - before)
        assert said == [1, 1]
        self.last_body = None

    @precondition(lambda self: self.is_open)
    @rule(
        again=st.booleans(),
        decision=st.sampled_from(["approve", "approve", "deny", "edit"]),
        at=st.integers(0, 3),
    )
    def decide(self, again, decision, at):
        calls = self.going(lambda: self.chat.plan().calls)
        if not calls:
            return
        call = calls[at % len(calls)]
        n = (call.arguments or {}).get("n")

        def work():
            if decision == "deny":
                self.chat.deny(call, "no")
            elif decision == "edit" and call.name == "pay":
                self.chat.edit(call, {"n": n})
            else:
                self.chat.approve(call, again=again)
                self.approved.add(n)
                if again and n is not None:
                    self.allowed[n] = self.allowed.get(n, 1) + 1

        self.going(work)

    @precondition(lambda self: self.is_open)
    @rule(
        only=st.sampled_from(["all", "none", "one"]),
        way=st.sampled_from(["run", "arun", "plan", "dispatch"]),
        at=st.integers(0, 3),
        cap=st.sampled_from([0, 10**6]),
        elsewhere=st.booleans(),
        is_strange=st.booleans(),
        approves=st.booleans(),
        fault=FAULTS,
    )
    def go_on(self, only, way, at, cap, elsewhere, is_strange, approves, fault):  # noqa: C901 - the whole of a run
        calls = self.going(lambda: self.chat.plan().calls)
        if not calls:
            return
        named = [call for call in calls if call.reader is None or not call.reader.is_answer]
        if not named:
            return
        chosen = named[at % len(named)]
        if approves:
            self.approve_all()
        self.fault = fault
        options = {**self.run_options()}
        if only != "all":
            options["only"] = [] if only == "none" else [chosen]
            options["inject"] = {"cap": cap if chosen.name != "spend" else 0}
        if is_strange and (strange := [call for call in named if self.had_begun(call)]):
            # A ledger that does not know the call: it had begun, so it is not run again.
            only, chosen = "one", strange[0]
            options |= {"only": strange[:1], "ledger": Book(lambda: None)}
        if elsewhere and self.options:
            self.running_elsewhere(calls)
        before = dict(self.effects)
        results = self.going(lambda: self.run_by(way, options))
        if only == "none":
            assert self.effects == before
        elif only == "one":
            n = (chosen.arguments or {}).get("n")
            assert {key for key in self.effects if self.effects[key] != before.get(key)} <= {n}
        if results is not None:
            self.texts(results, options.get("ledger"))
            self.same_answer(results)
        if only != "all" and self.is_open:  # the others can run later, by what their rule says then
            self.going(lambda: self.run_by(way, self.run_options()))

    def approve_all(self):
        for pending in self.chat.pending:
            if pending.name != "spend":
                self.going(lambda pending=pending: self.chat.approve(pending))
                self.approved.add(pending.arguments["n"])

    def run_by(self, way, options):
        if way == "plan" or "only" in options:
            options["scope"] = f"conversation {self.chat.id}, turn {self.chat._turns}"
            plan = self.chat.plan()
            return asyncio.run(plan.arun(**options)) if way == "arun" else plan.run(**options)
        if way == "arun":
            return asyncio.run(self.chat.arun(**options))
        return (self.chat.dispatch if way == "dispatch" else self.chat.run)(**options)

    @precondition(lambda self: self.options and not self.is_open)
    @rule()
    def another_process_ends_it(self):
        """It had begun when the text was written: whoever restores the text waits, and gets its result."""
        self.deliver(["mail"], None, False, False, ("enter", "save"))
        self.restore(-1)
        self.running_elsewhere(self.chat.plan().calls)
        [result] = self.chat.run(**self.run_options())
        assert result.text == f"mail {self.number}"

    def had_begun(self, call):
        return (call.arguments or {}).get("n") in self.begun

    def running_elsewhere(self, calls):
        """What is done in the ledger is read as running for a while, as if another process ended it just now."""
        ids = {call.id for call in calls}
        for key, row in self.book.rows.items():
            if row["state"] == "done" and key[1] in ids:
                self.book.still_running[key] = 2

    def same_answer(self, results):
        if type(self.answer) is Login and self.lives:
            return  # a text without secrets does not hold it, and says so
        if self.answer is not None:
            assert results.output is not None
            assert type(results.output.value) is type(self.answer)
            assert results.output.value == self.answer

    @rule(way=st.sampled_from(["json", "pickle", "live"]))
    def store(self, way):
        self.save()
        if way == "pickle":
            self.chat = (
                pickle.loads(pickle.dumps(Conversation(None, self.chat.messages))) and self.chat
            )
        if way == "json":
            self.restore(-1)

    @rule(at=st.integers(0, 9))
    def kill(self, at):
        if not self.saved:
            return
        self.book.is_dead = True
        self.restore(-1 - at % min(len(self.saved), 2))

    @precondition(lambda self: self.is_open)
    @rule(
        decisions=st.dictionaries(st.integers(0, 3), st.sampled_from([True, Deny("no")])),
        in_loop=st.booleans(),
    )
    def pause(self, decisions, in_loop):
        token = self.going(lambda: self.chat.pause(KEY, audience="a", expires=DAY, **self.options))
        if token is None:
            return
        assert MARK not in token
        calls = json.loads(token)["calls"]
        waiting = [call["id"] for call in calls if call["state"] != "answered"]
        self.approved |= {call.get("arguments", {}).get("n") for call in calls}
        chosen = {waiting[at]: given for at, given in decisions.items() if at < len(waiting)}
        self.saved.append((self.chat.to_json(), set(), self.answer))
        options = {"audience": "a", **self.run_options()}

        def work(decided):
            if in_loop:
                return asyncio.run(self.chat.aresume(token, KEY, decided, **options))
            return self.chat.resume(token, KEY, decided, **options)

        lives, results = self.lives, self.going(lambda: work(chosen))
        if (
            results is None and lives == self.lives
        ):  # a decision was refused, and the token is whole
            results = self.going(lambda: work({}))
        if results is not None:
            self.texts(results)
            self.same_answer(results)

    @precondition(lambda self: self.options)
    @rule(scope=st.sampled_from(["job 1", "job 2"]))
    def another_conversation(self, scope):
        """A job that is delivered twice, to two conversations, is paid once: its scope is that of the turn."""
        self.fault = None
        job, ran = body("job", ("pay", {"n": -1})), self.effects.get(-1, 0)
        for _ in range(2):
            chat = Conversation(self.tools)
            chat.user("Do the job.")
            chat.request("groq", model="m")
            chat.dispatch(job, ledger=self.other_book, scope=scope)
            chat = Conversation.from_json(chat.to_json(), self.tools)
            if chat.pending:
                chat.approve(chat.pending)
                chat.run(ledger=self.other_book)
        self.allowed[-1] = 2
        assert scope in self.scoped or self.effects[-1] == ran + 1
        assert scope not in self.scoped or self.effects[-1] == ran
        self.scoped.append(scope)

    @precondition(lambda self: self.options and not self.is_open)
    @rule()
    def forks(self):
        """Two forks that get equal calls are two conversations; one that is restored and forked again is the same."""
        self.fault = None
        stored, ran = self.chat.to_json(), []
        equal = body("fork", ("mail", {"n": -2}))
        self.allowed[-2] = 10**6
        base = Conversation.from_json(stored, self.tools)
        for fork in (
            base.trimmed(20),
            base.trimmed(20),
            Conversation.from_json(stored, self.tools).trimmed(20),
        ):
            before = self.effects.get(-2, 0)
            fork.request("groq", model="m")
            fork.dispatch(equal, ledger=self.other_book)
            ran.append(self.effects.get(-2, 0) - before)
        assert ran in ([1, 1, 0], [0, 0, 0])

    # --- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def nothing_runs_twice(self):
        """Reads apart: an effect comes once, and once more for each decision to run it again."""
        assert not getattr(self, "wrong", ())
        for n, times in getattr(self, "effects", {}).items():
            if n > 0 and n in self.allowed:
                kind_is_harmless = self.kinds[n] in ("look", "late")
                assert kind_is_harmless or times <= self.allowed[n], (n, times)

    @invariant()
    def nothing_secret_leaves(self):
        if not hasattr(self, "chat"):
            return
        stored = self.chat.to_json()
        assert MARK not in stored
        assert MARK not in str(self.chat)
        assert "approved" not in stored
        assert not self.place.exists() or MARK not in self.place.read_text()

    @invariant()
    def what_is_restored_asks_as_the_living(self):
        """The request after all is denied that waits."""
        if not hasattr(self, "chat") or self.is_open:
            return
        restored = Conversation.from_json(self.chat.to_json(), self.tools)
        assert restored.pending == ()
        assert len(restored) == len(self.chat)

    def teardown(self):
        """In the end, what was decided is answered: nothing waits that nobody serves."""
        if not hasattr(self, "chat"):
            return
        self.fault = None
        if self.is_open:
            plan = self.chat.plan()
            for call, answer in zip(plan.calls, plan.results._answers, strict=True):
                if answer is None:
                    self.allowed[(call.arguments or {}).get("n", 0)] = 10**6
                    self.approved.add((call.arguments or {}).get("n"))
                    try:
                        self.chat.approve(call, again=True)
                    except UsageError:  # it was interrupted: nobody runs it again
                        continue
            results = self.chat.run(**self.run_options())
            self.texts(results)
            self.same_answer(results)
        assert not self.is_open, json.loads(self.chat.to_json())["open"]
        self.chat.request("openai", model="m")
        self.place.unlink(missing_ok=True)


TestTurns = Turns.TestCase
TestTurns.settings = settings(
    max_examples=WALKS,
    stateful_step_count=20,
    deadline=None,
    database=None,
    phases=[
        Phase.generate
    ],  # a walk that fails is printed as it was: making it shorter takes minutes
)
