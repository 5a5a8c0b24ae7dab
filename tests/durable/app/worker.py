"""Runs the recipe `turns.py`, unchanged, and dies where DIE says: "after_effect pay"."""

import json
from pathlib import Path
from typing import Any

import turns
from dbos import DBOS, DBOSConfig
from shop import ENV, RESPONSE, meet

from toolshape.ledger import Ledger

CASE, URL = ENV["CASE"], ENV["DATABASE_URL"]


class Fated(Ledger):
    """A ledger whose process may not survive what it writes."""

    def claim(self, identity: Any, *, again: bool) -> Any:
        meet("before_claim", identity.tool)
        claim = super().claim(identity, again=again)
        if claim.state == "ours":
            meet("after_claim", identity.tool)
        return claim

    def finish(self, identity: Any, owner: str, outcome: str) -> None:
        meet("before_finish", identity.tool)
        super().finish(identity, owner, outcome)
        meet("after_finish", identity.tool)


turns.ledger = Fated(URL, lease=float(ENV.get("LEASE", "1")), wait=float(ENV.get("WAIT", "10")))
run_step, recv = DBOS.run_step, DBOS.recv


def fated_step(options: Any, function: Any, *given: Any) -> Any:
    """A step that may end before it runs, before DBOS records it, and after."""
    name = options["name"]

    def body(*inner: Any) -> Any:
        found = function(*inner)
        meet("before_record", name)
        return found

    meet("before_step", name)
    found = run_step({"name": name}, body, *given)
    meet("after_step", name)
    return found


def fated_recv(*given: Any, **more: Any) -> Any:
    found = recv(*given, **more)
    meet("after_recv", "all")
    return found


DBOS.run_step, DBOS.recv = fated_step, fated_recv  # type: ignore[method-assign, assignment]


def main() -> None:
    config: DBOSConfig = {
        "name": "shop",
        "system_database_url": URL,
        "executor_id": CASE,
        "log_level": "ERROR",
    }
    config["application_version"] = CASE  # so that no other case recovers it
    DBOS(config=config)
    DBOS.launch()
    for _ in range(int(ENV.get("START", "0"))):
        turns.start(CASE, RESPONSE)
    handle = DBOS.retrieve_workflow(CASE)
    try:
        found: dict[str, Any] = {"messages": handle.get_result()}
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {error}"}
    if ENV.get("FORK"):
        forked = DBOS.fork_workflow(CASE, 1, application_version=CASE)
        found["forked"] = forked.get_result()
    found["steps"] = [step["function_name"] for step in DBOS.list_workflow_steps(CASE)]
    found["status"] = handle.get_status().status
    Path(ENV["ANSWERS"]).write_text(json.dumps(found))
    DBOS.destroy()
    turns.ledger.close()


if __name__ == "__main__":
    main()
