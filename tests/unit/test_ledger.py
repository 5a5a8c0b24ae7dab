"""The ledger: what has run is answered by what came of it, and what may have run is not run again."""

import asyncio
import itertools
import logging
import math
import multiprocessing
import os
import pickle
import shutil
import sqlite3
import threading
import time
import uuid
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from responses import outcomes, response
from rows import ROWS

from toolshape import CallContext, Conversation, Image, Registry, ToolError, UsageError, tool
from toolshape._records.identity import Identity, has_made_up_id, identity_of
from toolshape.ledger import Ledger, url_of

RAN = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "calls.db", lease=0.4, wait=5)
    yield made
    made.close()


@tool(effects=["write"])
def pay(amount: int) -> dict[str, int]:
    """Pay."""
    RAN.append(amount)
    return {"paid": amount}


@tool
async def later(n: int) -> int:
    """Later."""
    await asyncio.sleep(0.01)
    RAN.append(n)
    return n


@tool
def fail(n: int) -> int:
    """Fail."""
    RAN.append(n)
    if n:
        raise ToolError("no such thing", retryable=True)
    raise ValueError("secret")


@tool(effects=["idempotent", "write"])
def put(n: int) -> int:
    """Put."""
    RAN.append(n)
    return n


TOOLS = Registry([pay, later, fail, put])
BODY = response(
    ("pay", {"amount": 5}),
    ("later", {"n": 6}),
    ("fail", {"n": 7}),
    ("fail", {"n": 0}),
    ("put", {"n": 8}),
)


def dispatch(how, body, ledger, scope=None, tools=TOOLS):
    if how == "run":
        return tools.dispatch(body, ledger=ledger, scope=scope)
    return asyncio.run(tools.adispatch(body, ledger=ledger, scope=scope))


EACH_WAY = pytest.mark.parametrize("how", ["run", "arun"])


@EACH_WAY
def test_what_has_run_is_answered_by_what_came_of_it(how, ledger, caplog):
    """A value as JSON, an error with its text and its reference."""
    caplog.set_level(logging.CRITICAL, logger="toolshape")
    first = dispatch(how, BODY, ledger, "c:1")
    ran = sorted(RAN)
    other = pickle.loads(pickle.dumps(ledger))
    again = dispatch(how, BODY, other, "c:1")
    other.close()
    assert sorted(RAN) == ran == [0, 5, 6, 7, 8]
    assert outcomes(again) == outcomes(first) == [{"paid": 5}, 6, "tool_error", "tool_crashed", 8]
    assert [item.text for item in again] == [item.text for item in first]
    assert [
        item.error and (item.error.code, item.error.retryable, item.error.reference)
        for item in again
    ] == [
        item.error and (item.error.code, item.error.retryable, item.error.reference)
        for item in first
    ]
    assert all(item.replayed for item in again)
    assert not any(item.replayed for item in first)
    assert again.messages == first.messages
    assert [item.arguments for item in again] == [item.arguments for item in first]


def test_images_come_again(ledger):
    @tool
    def draw() -> Image:
        """Draw."""
        return Image(b"\x89PNG", "image/png")

    tools = Registry([draw])
    first, again = (dispatch("run", response(("draw", {})), ledger, "s", tools) for _ in range(2))
    assert again[0].parts == first[0].parts
    assert again.messages == first.messages


@EACH_WAY
def test_another_scope_is_another_call(how, ledger):
    body = response(("pay", {"amount": 5}))
    for scope in ("c:1", "c:2", None):
        assert not dispatch(how, body, ledger, scope)[0].replayed
    assert RAN == [5, 5, 5]
    assert dispatch(how, body, ledger)[0].replayed  # the provider's own id, wherever it was made


@EACH_WAY
def test_the_same_id_with_other_arguments_is_refused(how, ledger):
    """Another tool under it, too."""
    dispatch(how, response(("pay", {"amount": 5})), ledger, "c:1")
    for other in (("pay", {"amount": 6}), ("put", {"n": 5})):
        [result] = dispatch(how, response(other), ledger, "c:1")
        assert result.error.code == "duplicate_call"
        assert "another call has this id" in result.text
    assert RAN == [5]


def test_an_id_that_was_made_up_is_never_looked_up(ledger):
    """Gemini gives none: two equal calls may both be meant; with a scope they are one."""
    body = {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "pay", "args": {"amount": 5}}}]}}
        ]
    }
    for _ in range(2):
        assert not TOOLS.dispatch(body, ledger=ledger)[0].replayed
    assert ledger.entries() == []
    assert [TOOLS.dispatch(body, ledger=ledger, scope="c:1")[0].replayed for _ in range(2)] == [
        False,
        True,
    ]
    assert RAN == [5, 5, 5]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.provider)
def test_ids_of_every_provider_are_known_from_those_that_are_made_up(row):
    """Each row has responses with ids of the provider's own, but for those that give none."""
    plan = Registry([pay]).bind(row.provider).plan(row.response)
    for call, (given, _, _) in zip(plan.calls, row.calls, strict=True):
        assert has_made_up_id(call) == (not given or given not in str(row.response))


@EACH_WAY
def test_equal_calls_in_one_response_run_once(how, ledger):
    body = response(
        ("later", {"n": 1}, "same"), ("later", {"n": 1}, "same"), ("later", {"n": 2}, "same")
    )
    found = outcomes(dispatch(how, body, ledger, "c:1"))
    assert RAN in ([1], [2])
    assert sorted(map(str, found)) == sorted(
        ["1", "1", "duplicate_call"] if RAN == [1] else ["2"] + ["duplicate_call"] * 2
    )


def broken_off(ledger, body=BODY, scope="c:1"):
    """Begin a call as a process would that dies at once: its lease is not renewed."""
    for call in TOOLS.bind("openai").plan(body).calls:
        ledger.claim(identity_of(call, scope), again=False)
    ledger._running.clear()


@EACH_WAY
def test_what_was_broken_off_is_not_run_again(how, ledger):
    """The model is told in plain words; a tool that may be called twice is."""
    broken_off(ledger)
    results = dispatch(how, BODY, ledger, "c:1")
    assert outcomes(results) == ["unknown_outcome"] * 4 + [8]
    assert RAN == [8]
    assert "It may or may not have had an effect, and was not run again" in results[0].text
    assert {entry.state for entry in ledger.entries("c:1")} == {"unknown", "done"}
    assert outcomes(dispatch(how, BODY, ledger, "c:1")) == ["unknown_outcome"] * 4 + [8]


@pytest.mark.slow
@EACH_WAY
def test_what_runs_elsewhere_is_waited_for(how, ledger):
    began, end = threading.Event(), threading.Event()

    @tool
    def slow(n: int) -> int:
        """Slow."""
        began.set()
        end.wait(5)
        RAN.append(n)
        return n

    tools, body = Registry([slow]), response(("slow", {"n": 1}))
    first = []
    thread = threading.Thread(
        target=lambda: first.extend(dispatch("run", body, ledger, "c", tools))
    )
    thread.start()
    began.wait()
    threading.Timer(1.0, end.set).start()  # longer than the lease, which is renewed
    [second] = dispatch(how, body, ledger, "c", tools)
    thread.join()
    assert (first[0].replayed, second.replayed, second.value, RAN) == (False, True, 1, [1])


@EACH_WAY
def test_what_runs_elsewhere_for_longer_is_not_waited_for(how, tmp_path):
    ledger = Ledger(tmp_path / "calls.db", lease=60, wait=0.1)
    broken_off(ledger)
    results = dispatch(how, response(("pay", {"amount": 5})), ledger, "c:1")
    assert results[0].error.code == "unknown_outcome"
    assert "still running elsewhere" in results[0].text
    assert not RAN
    ledger.close()


def test_cancelled_in_the_midst_the_outcome_is_unknown(ledger):
    began = asyncio.Event()

    @tool
    async def hang(n: int) -> int:
        """Hang."""
        began.set()
        await asyncio.sleep(60)
        return n

    tools, body = Registry([hang]), response(("hang", {"n": 1}))

    async def main():
        task = asyncio.ensure_future(tools.adispatch(body, ledger=ledger, scope="c"))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [entry.state for entry in ledger.entries()] == ["unknown"]
    assert outcomes(dispatch("arun", body, ledger, "c", tools)) == ["unknown_outcome"]


def test_cancelled_before_the_tool_is_called_it_can_be_run(ledger, monkeypatch):
    """The ledger is asked in a thread, which ends after we were cancelled: what it has begun is undone."""
    claim = Ledger.claim
    asked = threading.Event()

    def slowly(self, identity, *, again):
        asked.set()
        time.sleep(0.1)
        return claim(self, identity, again=again)

    monkeypatch.setattr(Ledger, "claim", slowly)
    body = response(("later", {"n": 1}))

    async def main():
        task = asyncio.ensure_future(TOOLS.adispatch(body, ledger=ledger, scope="c"))
        await asyncio.to_thread(asked.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ledger.entries() == []
    assert outcomes(dispatch("arun", body, ledger, "c")) == [1]


def test_an_interrupt_leaves_the_outcome_unknown(ledger):
    @tool
    def interrupted() -> None:
        """Interrupt."""
        raise KeyboardInterrupt

    tools, body = Registry([interrupted]), response(("interrupted", {}))
    with pytest.raises(KeyboardInterrupt):
        tools.dispatch(body, ledger=ledger, scope="c")
    assert outcomes(tools.dispatch(body, ledger=ledger, scope="c")) == ["unknown_outcome"]


@EACH_WAY
def test_what_cannot_be_written_down_is_not_run(how, tmp_path, caplog):
    (tmp_path / "there").mkdir()
    ledger = Ledger(tmp_path / "there" / "calls.db")
    ledger.close()
    shutil.rmtree(tmp_path / "there")
    with caplog.at_level(logging.ERROR, logger="toolshape"):
        results = dispatch(how, response(("pay", {"amount": 5})), ledger, "c")
    assert outcomes(results) == ["not_run"]
    assert not RAN
    assert "unable to open database file" in caplog.text
    assert "unable" not in results[0].text


@EACH_WAY
def test_an_outcome_that_cannot_be_written_down_is_answered(how, ledger, caplog, monkeypatch):
    """It has happened, and is unknown to everybody else."""

    def broken(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Ledger, "finish", broken)
    with caplog.at_level(logging.ERROR, logger="toolshape"):
        results = dispatch(how, response(("pay", {"amount": 5})), ledger, "c")
    assert outcomes(results) == [{"paid": 5}]
    assert "the disk is full" in caplog.text


def test_the_database_never_blocks_the_loop(ledger, monkeypatch):
    """While it is asked, the loop goes on."""
    claim, seen = Ledger.claim, []

    def slowly(self, identity, *, again):
        time.sleep(0.2)
        return claim(self, identity, again=again)

    monkeypatch.setattr(Ledger, "claim", slowly)

    async def main():
        task = asyncio.ensure_future(TOOLS.adispatch(BODY, ledger=ledger, scope="c"))
        while not task.done():
            seen.append(time.perf_counter())
            await asyncio.sleep(0.005)

    asyncio.run(main())
    assert max(b - a for a, b in itertools.pairwise(seen)) < 0.15


@EACH_WAY
def test_hooks_are_inside_and_see_no_call_that_has_run(how, ledger):
    tools, seen = Registry([pay, later]), []

    class Hook:
        def __call__(self, context, proceed):
            seen.append(context.call_id)
            return proceed()

        async def acall(self, context, proceed):
            seen.append(context.call_id)
            return await proceed()

    tools.around(Hook())
    body = response(("pay", {"amount": 1}), ("later", {"n": 2}))
    for _ in range(2):
        assert outcomes(dispatch(how, body, ledger, "c", tools)) == [{"paid": 1}, 2]
    assert sorted(seen) == ["call_0", "call_1"]


# --- keys ---------------------------------------------------------------------------------------------------------


def test_a_tool_gets_one_key_for_one_call(ledger):
    """At every attempt, and when the response comes again."""
    keys = []

    @tool
    def charge(amount: int, context: CallContext) -> int:
        """Charge."""
        keys.append(context.idempotency_key)
        return amount

    tools = Registry([charge])
    tools.around(lambda _, proceed: (proceed(), proceed())[1])
    body = response(("charge", {"amount": 1}), ("charge", {"amount": 1}))
    tools.dispatch(body, ledger=ledger, scope="a")
    tools.dispatch(body, ledger=ledger, scope="b")
    tools.dispatch(body)
    tools.dispatch(body)
    assert [keys[n] == keys[n + 1] for n in range(0, 16, 2)] == [True] * 8
    first, second = keys[:4:2], keys[4:8:2]
    assert len({*first, *second, *keys[8:12:2]}) == 6
    assert keys[8:12] == keys[12:16]  # the provider's ids
    assert all(len(key) == 64 for key in keys)
    keys.clear()
    unnamed = {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "charge", "args": {"amount": 1}}}]}}
        ]
    }
    for _ in range(2):
        tools.dispatch(unnamed, provider="gemini")
    assert keys[0] == keys[1] != keys[2] == keys[3]


# --- the ledger itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((":memory:",), "in memory"),
        (("sqlite://",), "in memory"),
        (("calls.db", {"lease": 0}), "lease= must be a number of seconds"),
        (("calls.db", {"wait": -1}), "wait= must be a number of seconds"),
        (("calls.db", {"wait": True}), "wait= must be a number of seconds"),
        (("calls.db", {"wait": math.inf}), "wait= must be a number of seconds"),
        (("calls.db", {"lease": math.nan}), "lease= must be a number of seconds"),
        ((sa.create_engine("sqlite://"),), "in memory"),
        (("sqlite:///file:x?mode=memory&uri=true",), "in memory"),
        (("mysql+nothing://host/calls",), "SQLite or PostgreSQL, not mysql"),
        (("://",), "a database URL or the path of a file"),
    ],
)
def test_what_is_no_ledger_is_refused(given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url, *options = given
    with pytest.raises(UsageError, match=said):
        Ledger(url, **(options[0] if options else {}))


def test_a_ledger_is_a_ledger_and_a_scope_is_a_text(ledger):
    for wrong, said in (
        ({"ledger": "calls.db"}, "takes a toolshape.ledger.Ledger, not str"),
        ({"ledger": ledger, "scope": 5}, "scope= must be a string"),
        ({"ledger": ledger, "scope": "\ud800"}, "a character that databases cannot store"),
        ({"ledger": ledger, "scope": "c\0"}, "a character that databases cannot store"),
    ):
        with pytest.raises(UsageError, match=said):
            TOOLS.dispatch(BODY, **wrong)
        with pytest.raises(UsageError, match=said):
            asyncio.run(TOOLS.adispatch(BODY, **wrong))
    assert not RAN


def test_an_engine_is_taken_and_not_pickled(tmp_path):
    ledger = Ledger(sa.create_engine(f"sqlite:///{tmp_path / 'calls.db'}"))
    assert outcomes(dispatch("run", response(("pay", {"amount": 5})), ledger, "c")) == [{"paid": 5}]
    with pytest.raises(TypeError, match="create it with a URL"):
        pickle.dumps(ledger)
    ledger.close()


def test_the_repr_says_where_it_is(tmp_path):
    with Ledger(tmp_path / "calls.db") as ledger:
        assert repr(ledger) == f"Ledger('sqlite:///{tmp_path / 'calls.db'}')"
    assert url_of(sa.make_url("postgresql+psycopg://ann:hunter2@host/calls")).password == "hunter2"
    assert url_of("postgresql+psycopg://ann:hunter2@host/calls").password == "hunter2"


@pytest.mark.parametrize("name", ["calls.db", "what? a&b=c #1 %20.db", "sqlite:///calls.db"])
def test_a_file_is_the_same_wherever_the_process_goes(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger(name) as ledger:
        (tmp_path / "deeper").mkdir()
        monkeypatch.chdir(tmp_path / "deeper")
        dispatch("run", response(("pay", {"amount": 1})), ledger, "c")
        with pickle.loads(pickle.dumps(ledger)) as other:
            assert len(other.entries()) == 1
    assert (tmp_path / name.removeprefix("sqlite:///")).exists()


def test_a_ledger_that_is_closed_in_the_midst_leaves_nothing_open(tmp_path):
    """The thread that renews has ended then, and its connection is back."""
    for _ in range(20):
        ledger = Ledger(tmp_path / "calls.db", lease=0.003)
        ledger.claim(Identity("c", uuid.uuid4().hex, "pay", "d", is_lasting=True), again=False)
        time.sleep(0.005)
        ledger.close()
        assert not [item for item in threading.enumerate() if item.name == "toolshape-ledger"]


def test_calls_that_wait_for_the_database_have_no_thread_each(ledger, monkeypatch):
    most, claim = [0], ledger.claim

    def counted(identity, *, again):
        most[0] = max(most[0], threading.active_count())
        return claim(identity, again=again)

    monkeypatch.setattr(ledger, "claim", counted)
    body = response(*(("later", {"n": n}) for n in range(200)))
    assert len(asyncio.run(TOOLS.adispatch(body, ledger=ledger, scope="c"))) == 200
    assert most[0] < 60


def test_what_is_written_down_can_be_looked_at_and_forgotten(ledger):
    TOOLS.dispatch(response(("pay", {"amount": 5}), ("put", {"n": 1})), ledger=ledger, scope="c:1")
    broken_off(ledger, response(("pay", {"amount": 6})), "c:2")
    time.sleep(0.5)
    first, second, third = ledger.entries()
    assert (first.scope, first.call_id, first.tool, first.state) == ("c:1", "call_0", "pay", "done")
    assert first.started <= first.finished <= second.started
    assert '"paid": 5' in first.outcome
    assert (third.state, third.finished, third.outcome) == ("unknown", None, None)
    assert ledger.entries(state="unknown") == ledger.entries("c:2") == [third]
    with pytest.raises(
        UsageError, match="state= must be one of running, done, unknown, not 'unkown'"
    ):
        ledger.entries(state="unkown")
    assert ledger.forget(older_than=timedelta(hours=1)) == 0
    assert ledger.forget(older_than=timedelta(seconds=0)) == 2
    assert [entry.state for entry in ledger.entries()] == ["unknown"]


def test_the_thread_that_renews_ends_with_the_calls(ledger):
    dispatch("run", BODY, ledger, "c")
    until = time.monotonic() + 5
    while any(item.name == "toolshape-ledger" for item in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.05)
    dispatch("run", BODY, ledger, "d")
    assert len(ledger.entries()) == 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_that_was_forked_has_connections_of_its_own(ledger):
    dispatch("run", response(("pay", {"amount": 1})), ledger, "parent")
    fork = multiprocessing.get_context("fork")
    child = fork.Process(
        target=dispatch, args=("run", response(("pay", {"amount": 2})), ledger, "child")
    )
    child.start()
    child.join(20)
    assert child.exitcode == 0
    assert sorted(entry.scope for entry in ledger.entries()) == ["child", "parent"]
    dispatch("run", response(("pay", {"amount": 3})), ledger, "after")


def test_it_is_kept_so_that_nothing_written_is_lost(ledger, tmp_path):
    dispatch("run", response(("pay", {"amount": 1})), ledger, "c")
    with sqlite3.connect(tmp_path / "calls.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_very_long_scopes_and_ids_are_told_apart(ledger):
    body = response(
        ("pay", {"amount": 1}, "i" * 100_000), ("pay", {"amount": 1}, "i" * 99_999 + "j")
    )
    for _ in range(2):
        assert (
            outcomes(TOOLS.dispatch(body, ledger=ledger, scope="s" * 100_000)) == [{"paid": 1}] * 2
        )
    assert RAN == [1, 1]


@tool(effects=["destructive"], approve=True)
def give_back(amount: int) -> str:
    """Pay money back."""
    return f"paid {amount}"


def asked_to_pay(call_id: str) -> dict[str, Any]:
    call = {
        "id": call_id,
        "type": "function",
        "function": {"name": "give_back", "arguments": '{"amount": 1}'},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"choices": [{"finish_reason": "tool_calls", "message": message}]}


@pytest.mark.parametrize("scope", [None, "a turn"])
def test_a_denied_call_is_not_run_when_its_response_comes_again(scope, tmp_path, caplog):
    desk = Registry([give_back])
    with Ledger(str(tmp_path / "calls.db")) as ledger:
        plan = desk.plan(asked_to_pay("a"))
        plan.deny("a", "no")
        [denied] = plan.run(ledger=ledger, scope=scope)
        assert denied.error.code == "denied"
        again = desk.plan(asked_to_pay("a"))
        again.approve("a")
        [answer] = again.run(ledger=ledger, scope=scope)
        assert (answer.error.code, answer.replayed, answer.text) == ("denied", True, denied.text)
        assert not caplog.records
        paid = desk.plan(asked_to_pay("b"))
        paid.approve("b")
        assert paid.run(ledger=ledger, scope=scope)[0].text == "paid 1"
        late = desk.plan(asked_to_pay("b"))
        late.deny("b", "no")
        late.run(ledger=ledger, scope=scope)
        assert "give_back (b) was denied, but the ledger has another outcome: paid 1" in caplog.text


@pytest.mark.parametrize("is_async", [False, True])
def test_a_denial_in_a_conversation_is_kept_by_its_ledger(is_async, tmp_path):
    """Also where the denial closed the turn, so that nothing is left to run."""
    desk = Registry([give_back])
    chat = Conversation(desk)
    chat.user("I want my money back.")
    chat.dispatch(asked_to_pay("a"))
    stored = chat.to_json()
    with Ledger(str(tmp_path / "calls.db")) as ledger:
        first = Conversation.from_json(stored, desk)
        first.deny("a", "no")
        results = asyncio.run(first.arun(ledger=ledger)) if is_async else first.run(ledger=ledger)
        assert results[0].error.code == "denied"
        second = Conversation.from_json(stored, desk)
        second.approve("a")
        [answer] = second.run(ledger=ledger)
        assert (answer.error.code, answer.replayed) == ("denied", True)


ONE = response(("pay", {"amount": 5}))


def engine_that_refuses(path, refuses):
    """An engine on which some statements fail, as if the database was locked."""
    engine = sa.create_engine(f"sqlite:///{path}")

    @sa.event.listens_for(engine, "before_cursor_execute")
    def refuse(_connection, _cursor, statement, parameters, *_):
        if refuses(statement):
            raise sa.exc.OperationalError(statement, parameters, Exception("refused by the test"))

    return engine


def is_end(statement):
    return statement.startswith("UPDATE") and "outcome" in statement


@pytest.mark.parametrize("failures", [1, 10**6])
def test_the_end_of_a_call_is_written_in_several_tries(tmp_path, failures):
    """Until it is written, this process answers from what it knows."""
    left = [failures]

    def refuses(statement):
        left[0] -= is_end(statement)
        return is_end(statement) and left[0] >= 0

    with Ledger(engine_that_refuses(tmp_path / "a.db", refuses), lease=0.3, wait=0.1) as ledger:
        texts = [dispatch("run", ONE, ledger, "s")[0].text for _ in range(2)]
        assert (texts, RAN) == (['{"paid":5}'] * 2, [5])
        if failures == 1:
            assert [entry.state for entry in ledger.entries()] == ["done"]
        left[0] = 0
        deadline = time.monotonic() + 5
        while ledger.entries()[0].state != "done" and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ledger.entries()[0].state == "done"


def test_who_cannot_make_tables_uses_those_that_are_there(tmp_path):
    Ledger(tmp_path / "a.db").close()
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with Ledger(engine) as ledger:
        ledger.entries()
    made = []
    refusing = engine_that_refuses(
        tmp_path / "a.db", lambda text: "CREATE TABLE" in text and not made.append(1)
    )
    with Ledger(refusing) as ledger:
        assert dispatch("run", ONE, ledger, "s")[0].ok
    assert not made


def test_only_the_first_call_waits_for_tables_that_cannot_be_made(tmp_path):
    refusing = engine_that_refuses(tmp_path / "a.db", lambda text: "CREATE TABLE" in text)
    with Ledger(refusing) as ledger:
        took = []
        for _ in range(2):
            started = time.monotonic()
            with pytest.raises(ConnectionError, match="cannot be reached"):
                ledger.entries()
            took.append(time.monotonic() - started)
    assert took[0] > 0.9 > took[1]


def test_no_call_has_the_key_of_a_token(tmp_path, ledger):
    """Whatever its id and its scope are."""
    ledger.keep("t" * 32, "kept")
    look = response(("pay", {"amount": 5}, "t" * 32))
    dispatch("run", look, ledger, "paused plans")
    assert ledger.kept("t" * 32) == "kept"
    token = Identity("paused plans", "t" * 32, "", "d", is_lasting=True)
    claim = ledger.claim(token, again=True)
    assert claim.state == "ours"
    ledger.finish(token, claim.owner, "{}")
    assert ledger.kept("t" * 32) is None


@pytest.mark.parametrize(
    ("error", "code"), [(ConnectionError, "not_run"), (OSError, "unknown_outcome")]
)
def test_what_could_not_be_claimed_may_have_run_before(error, code, ledger, monkeypatch):
    """Only a refused connection is certain: nothing was recorded, so nothing has run under this ledger now."""

    def refuse(*_, **__):
        raise error("away")

    monkeypatch.setattr(ledger, "claim", refuse)
    [result] = dispatch("run", ONE, ledger, "s")
    assert result.error.code == code
    assert RAN == []
