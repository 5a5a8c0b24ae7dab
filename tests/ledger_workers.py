"""Processes that share a ledger, and die or stop where they are told to."""

import asyncio
import json
import os
import signal
import threading
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from responses import outcomes, response

from toolshape import CallContext, Registry, tool
from toolshape.ledger import Ledger

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
            with WRITING:  # a process that is stopped while it renews a lease would keep SQLite's file locked
                signal.pthread_kill(threading.get_ident(), self.how)  # sent to the process, it arrives later


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


class Fated(Ledger):
    """A ledger whose process may not survive what it writes."""

    fate = Fate()

    @contextmanager
    def _transaction(self):
        with WRITING, super()._transaction() as connection:
            yield connection

    def claim(self, identity, *, again):
        number = int(identity.call_id.rpartition("_")[2])
        self.fate.meet("before claim", number)
        claim = super().claim(identity, again=again)
        if claim.state == "ours":
            self.fate.meet("after claim", number)
        return claim

    def finish(self, identity, owner, outcome):
        number = int(identity.call_id.rpartition("_")[2])
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
        Path(answers).write_text(json.dumps([outcomes(results), [one.replayed for one in results]]))


def started(*given):
    """A process that does the work; it is forked of one that has loaded everything, and has no thread."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["ledger_workers"])
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), before]).strip(
        os.pathsep
    )  # for the preload
    try:
        process = context.Process(target=work, args=given)
        process.start()
    finally:
        os.environ["PYTHONPATH"] = before
    return process
