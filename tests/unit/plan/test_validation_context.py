"""``context=`` reaches validators of arguments and answers as ``info.context``, by every way; it is never stored."""

import asyncio
import datetime
import json
import pickle
import threading
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationInfo

from toolshape import Conversation, Output, Registry, TokenError, UsageError, tool
from toolshape.trace import record_to

CONTEXT = {"tables": {"orders", "lines"}}
KEY = b"k" * 16


def is_known(name: str, info: ValidationInfo) -> str:
    if name not in info.context["tables"]:
        raise ValueError(f"there is no table {name}")
    return name


Table = Annotated[str, AfterValidator(is_known)]


@tool
def show(table: Table) -> str:
    """Show a table."""
    return f"shown {table}"


@tool(approve=True)
def drop(table: Table) -> str:
    """Drop a table."""
    return f"dropped {table}"


TOOLS = Registry([show, drop])


def call(name: str, table: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"table": table})}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}  # fmt: skip
    return {"choices": [{"finish_reason": "tool_calls", "message": message}]}


def test_it_reaches_validators():
    assert TOOLS.dispatch(call("show", "orders"), context=CONTEXT)[0].value == "shown orders"
    [result] = asyncio.run(TOOLS.adispatch(call("show", "lines"), context=CONTEXT))
    assert result.value == "shown lines"
    [refused] = TOOLS.dispatch(call("show", "other"), context=CONTEXT)
    assert "there is no table other" in str(refused.error)


def test_a_call_without_it_has_none():
    """It does not leak from the call before."""
    TOOLS.dispatch(call("show", "orders"), context=CONTEXT)
    assert TOOLS.dispatch(call("show", "orders"))[0].error.code == "tool_crashed"


def test_an_edit_a_pause_and_a_resumption():
    plan = TOOLS.plan(call("drop", "orders"), context=CONTEXT)
    plan.edit("c1", {"table": "lines"})
    token = plan.pause(KEY, audience="me", expires=datetime.timedelta(hours=1))
    assert "tables" not in token
    with pytest.raises(TokenError):
        TOOLS.resume(token, KEY, {"c1": True}, audience="me")
    [result] = TOOLS.resume(token, KEY, {"c1": True}, audience="me", context=CONTEXT)
    assert result.value == "dropped lines"


def test_a_restored_call_stays_pending_without_it():
    chat = Conversation(TOOLS)
    chat.user("Drop it.")
    chat.request("openai")
    chat.dispatch(call("drop", "orders"), context=CONTEXT)
    stored = chat.to_json()
    assert "tables" not in stored
    restored = Conversation.from_json(stored, TOOLS)
    with pytest.raises(UsageError, match="context="):
        restored.approve("c1")
    restored.plan(context=CONTEXT)
    assert [pending.id for pending in restored.pending] == ["c1"]


def test_a_stream():
    collector = TOOLS.bind("openai").collector(context=CONTEXT)
    delta = {**call("show", "orders")["choices"][0]["message"]["tool_calls"][0], "index": 0}
    collector.feed({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]})
    collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert collector.plan().run()[0].value == "shown orders"


def test_an_answer():
    class Chosen(BaseModel):
        table: Table

    message = {"role": "assistant", "content": '{"table": "orders"}'}
    response = {"choices": [{"finish_reason": "stop", "message": message}]}
    bound = Output(Chosen).bind("openai")
    assert bound.read(response, context=CONTEXT).value.table == "orders"
    assert bound.read(response).error is not None


def test_what_validates_again_later_has_it_too(tmp_path):
    """The recorded arguments, a second attempt under a hook, a pickle, and a trace, which does not hold the context."""
    tools = Registry([show])
    tools.around(lambda _, proceed: (proceed(), proceed())[1])
    path = tmp_path / "trace.jsonl"
    tools.observe(record_to(path, keep="all"))
    [result] = tools.dispatch(call("show", "orders"), context=CONTEXT)
    assert result.value == "shown orders"
    assert '"orders"' in path.read_text(encoding="utf-8")
    assert "lines" not in path.read_text(encoding="utf-8")
    [plain] = TOOLS.dispatch(call("show", "orders"), context=CONTEXT)
    assert plain.arguments == {"table": "orders"}
    assert pickle.loads(pickle.dumps(plain)).arguments == {"table": "orders"}


def test_a_tool_that_dispatches_does_not_pass_it_on():
    @tool
    def ask() -> bool:
        """Ask another registry."""
        return TOOLS.dispatch(call("show", "orders"))[0].ok

    function = {"name": "ask", "arguments": "{}"}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}  # fmt: skip
    response = {"choices": [{"finish_reason": "tool_calls", "message": message}]}
    assert Registry([ask]).dispatch(response, context=CONTEXT)[0].value is False


def test_two_threads_have_their_own():
    def run(table: str) -> None:
        context = {"tables": {table}}
        for _ in range(50):
            for other in ("orders", "lines"):
                [result] = TOOLS.dispatch(call("show", other), context=context)
                outcomes.append(result.ok is (other == table))

    outcomes: list[bool] = []
    threads = [threading.Thread(target=run, args=(table,)) for table in ("orders", "lines")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 200
    assert all(outcomes)


def test_an_answer_beside_tools():
    class Chosen(BaseModel):
        table: Table

    message = {"role": "assistant", "content": '{"table": "orders"}'}
    response = {"choices": [{"finish_reason": "stop", "message": message}]}
    bound = TOOLS.bind("openai", output=Chosen)
    assert bound.dispatch(response, context=CONTEXT).output.value.table == "orders"
