"""Processes that share a ledger, and die or stop where they are told to."""

import asyncio
import json
import os
import signal
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

from responses import outcomes, response

from toolshape import CallContext, Conversation, Registry, TokenError, tool
from toolshape.ledger import Ledger
from toolshape.messages import results_in

POINTS = (
    "before claim", "after claim", "before effect", "during effect", "after effect", "before finish", "after finish",
)  # fmt: skip
WRITING = threading.RLock()
BODY = response(("pay", {"n": 0}), ("mail", {"n": 1}), ("pay", {"n": 2}), ("mail", {"n": 3}))


class Fate:
    """At which point of which call a process ends or stops, and by which signal."""

    def __init__(self, point="", number=-1, how=signal.SIGKILL):
        self.point, self.number, self.how = point, number, how

    def meet(self, point, number):
        if (point, number) == (self.point, self.number):
            with (
                WRITING
            ):  # a process that is stopped while it renews a lease would keep SQLite's file locked
                signal.pthread_kill(
                    threading.get_ident(), self.how
                )  # sent to the process, it arrives later


def note(path, text):
    """Write to a file so that it is there whatever becomes of the process."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, text.encode())
    os.fsync(handle)
    os.close(handle)


def registry(path, fate):
    def effect(n):
        fate.meet("before effect", n)
        note(path, f"begin {n}\n")
        fate.meet("during effect", n)
        note(path, f"end {n}\n")
        fate.meet("after effect", n)

    @tool(effects=["write"])
    def pay(n: int) -> str:
        """Pay."""
        effect(n)
        return f"paid {n}"

    @tool
    async def mail(n: int, context: CallContext) -> str:
        """Mail."""
        await asyncio.sleep(0)
        effect(n)
        return f"mailed {n}"

    return Registry([pay, mail])


def number_of(identity):
    """The number of a call in its response; a token that is claimed counts as none."""
    end = identity.call_id.rpartition("_")[2]
    return int(end) if end.isdecimal() and len(end) == 1 else -1


class Fated(Ledger):
    """A ledger whose process may not survive what it writes."""

    fate = Fate()

    @contextmanager
    def _transaction(self):
        with WRITING, super()._transaction() as connection:
            yield connection

    def claim(self, identity, *, again):
        number = number_of(identity)
        self.fate.meet("before claim", number)
        claim = super().claim(identity, again=again)
        if claim.state == "ours":
            self.fate.meet("after claim", number)
        return claim

    def finish(self, identity, owner, outcome):
        number = number_of(identity)
        self.fate.meet("before finish", number)
        super().finish(identity, owner, outcome)
        self.fate.meet("after finish", number)


def work(url, path, scope, how, fate, answers):
    """Dispatch the response under the ledger, and write down how each call was answered."""
    with Fated(url, lease=0.5, wait=10) as ledger:
        ledger.fate = fate
        tools = registry(path, fate)
        if how == "run":
            results = tools.dispatch(BODY, ledger=ledger, scope=scope)
        else:
            results = asyncio.run(tools.adispatch(BODY, ledger=ledger, scope=scope))
        Path(answers).write_text(
            json.dumps([outcomes(results), [result.replayed for result in results]])
        )


STAGES = (
    "before store",
    "after store",
    "before ask",
    "after ask",
    "after approval",
    "after pause",
    "before resume",
)
ASKED = response(("pay", {"n": 0}), ("refund", {"n": 1}), ("mail", {"n": 2}))
KEY = b"a key of thirty-two bytes, secret"


def talk(url, path, folder, how, fate, answers):  # noqa: C901 - its steps are what is killed between
    """A conversation that is stored at each step, goes on from what is stored, and ends with an answer to each call.

    ``how`` says where the decision is made: ``here``, in the process that asked, or with a ``token``; and by which
    driver the calls run.
    """
    store, token = Path(folder, "chat.json"), Path(folder, "token")
    with Fated(url, lease=0.5, wait=10) as ledger:
        ledger.fate = fate
        tools = registry(path, fate)

        @tools.tool(effects=["write"], approve=True)
        def refund(n: int) -> str:
            """Refund."""
            tools["pay"](n)
            return f"refunded {n}"

        def keep(step):
            fate.meet("before store", step)
            Path(folder, "new").write_text(chat.to_json())
            Path(folder, "new").replace(store)
            fate.meet("after store", step)

        def done(sync, awaitable):
            return (
                sync(ledger=ledger) if "arun" not in how else asyncio.run(awaitable(ledger=ledger))
            )

        if store.exists():
            chat = Conversation.from_json(store.read_text(), tools)
        else:
            chat = Conversation(tools)
            chat.user("Pay, refund and mail.")
            keep(0)
        if not any(message.role == "assistant" for message in chat):
            fate.meet("before ask", 0)
            options = {"provider": "openai", "ledger": ledger}
            asyncio.run(chat.adispatch(ASKED, **options)) if "arun" in how else chat.dispatch(
                ASKED, **options
            )
            fate.meet("after ask", 0)
            keep(1)
        if chat.pending and "token" in how:
            if not token.exists():
                text = chat.pause(KEY, audience="desk", expires=timedelta(hours=1), ledger=ledger)
                fate.meet("after pause", 0)
                Path(folder, "new token").write_text(text)
                Path(folder, "new token").replace(token)
            fate.meet("before resume", 0)
            chat = Conversation.from_json(store.read_text(), tools)
            decisions = {"call_1": True}
            while chat.pending:
                try:
                    chat.resume(token.read_text(), KEY, decisions, audience="desk", ledger=ledger)
                except TokenError as error:
                    if (
                        error.rule == "used"
                    ):  # its plan has run, and the process was killed before it stored that
                        chat.run(ledger=ledger)
                    time.sleep(0.1)  # in use: by a process that was killed, until its lease is over
            keep(2)
        elif chat.pending:
            chat.approve([call.call for call in chat.pending])
            fate.meet("after approval", 0)
            done(chat.run, chat.arun)
            keep(2)
        said = [(part.id, part.text, part.code) for message in chat for part in results_in(message)]
        Path(answers).write_text(json.dumps(said))


def started(*given, target=None):
    """A process that does the work; it is forked of one that has loaded everything, and has no thread."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["ledger_workers"])
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), before]).strip(
        os.pathsep
    )  # for the preload
    try:
        process = context.Process(target=target or work, args=given)
        process.start()
    finally:
        os.environ["PYTHONPATH"] = before
    return process
