"""What an author hid from the model stays hidden through an import and an export, and is filled by its type or not at all."""

from typing import Annotated

import pytest

from toolshape import Registry, UsageError, tool


def answered(made, arguments, **options):
    [result] = Registry([made]).dispatch({"name": made.name, "arguments": arguments}, **options)
    return result


class TestLangChain:
    """``InjectedToolArg`` and its kin, in both directions."""

    @pytest.fixture
    def lc(self):
        return pytest.importorskip("langchain_core.tools")

    @pytest.fixture
    def bridge(self, lc):
        pytest.importorskip("langgraph.prebuilt")
        from toolshape.bridges import langchain

        return langchain

    @pytest.fixture
    def orders(self, lc):
        @lc.tool
        def orders(a: int, user_id: Annotated[str, lc.InjectedToolArg]) -> str:
            """The orders of a user."""
            return f"{user_id}: {a}"

        return orders

    def test_a_model_cannot_set_it(self, lc, bridge):
        @lc.tool
        def orders(a: int, user_id: Annotated[str, lc.InjectedToolArg] = "app") -> str:
            """The orders of a user."""
            return user_id

        imported = bridge.from_langchain(orders)
        assert answered(imported, {"a": 1}).value == "app"
        refused = answered(imported, {"a": 1, "user_id": "evil"})
        assert refused.error.code == "invalid_arguments"
        named = bridge.from_langchain(orders, inject=["user_id"])
        assert answered(named, {"a": 1}, inject={"user_id": "ann"}).value == "ann"
        assert not answered(named, {"a": 1, "user_id": "evil"}, inject={"user_id": "ann"}).ok

    def test_where_nobody_fills_it_the_import_is_refused(self, orders, bridge):
        with pytest.raises(UsageError, match=r"hides 'user_id'.*inject=\['user_id'\]"):
            bridge.from_langchain(orders)
        named = bridge.from_langchain(orders, inject=["user_id"])
        assert answered(named, {"a": 1}, inject={"user_id": "ann"}).value == "ann: 1"
        with pytest.raises(UsageError, match="needs inject="):
            answered(named, {"a": 1})
        with pytest.raises(UsageError, match="hides no parameter 'a'"):
            bridge.from_langchain(orders, inject=["user_id", "a"])

    def test_the_store_and_the_runtime_of_a_graph(self, lc, bridge):
        from langgraph.prebuilt import InjectedStore, ToolRuntime

        @lc.tool
        def stored(a: int, store: Annotated[object, InjectedStore()]) -> str:
            """What is stored."""
            return str(store)

        @lc.tool
        def ran(a: int, runtime: ToolRuntime) -> str:
            """Where it runs."""
            return str(runtime)

        @lc.tool
        def called(a: int, call_id: Annotated[str, lc.InjectedToolCallId]) -> str:
            """The id of the call, which LangChain fills."""
            return call_id

        for made, name in ((stored, "store"), (ran, "runtime")):
            with pytest.raises(UsageError, match=f"hides '{name}'"):
                bridge.from_langchain(made)
        assert answered(bridge.from_langchain(called), {"a": 1}).ok

    @pytest.mark.parametrize("default", ["app", None])
    def test_a_graph_passes_no_runtime_for_it(self, lc, bridge, default):
        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode

        def orders(a: int, user_id: Annotated[str, lc.InjectedToolArg] = "app") -> str:
            """The orders of a user."""
            return type(user_id).__name__

        if default is None:
            orders.__defaults__ = None
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(bridge.to_langchain(Registry([tool(orders)]))))
        graph.add_edge(START, "tools")
        call = {"name": "orders", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
        asked = {"messages": [AIMessage("", tool_calls=[call])]}
        if default is None:
            with pytest.raises(UsageError, match="needs inject="):
                graph.compile().invoke(asked)
            return
        [told] = [
            m for m in graph.compile().invoke(asked)["messages"] if isinstance(m, ToolMessage)
        ]
        assert told.content == "str"


class TestPydanticAI:
    """The ``deps`` of a ``RunContext``."""

    @pytest.fixture
    def bridge(self):
        pytest.importorskip("pydantic_ai")
        from toolshape.bridges import pydantic_ai

        return pydantic_ai

    def test_they_come_with_each_call(self, bridge):
        from pydantic_ai import RunContext, Tool

        def orders(context: RunContext[dict[str, str]], a: int) -> str:
            """The orders of a user."""
            return f"{context.deps['user']}: {a}"

        imported = bridge.from_pydantic_ai(Tool(orders))
        for user in ("ann", "bob"):
            given = {"deps": {"user": user}}
            assert answered(imported, {"a": 1}, inject=given).value == f"{user}: 1"
        with pytest.raises(UsageError, match="needs inject="):
            answered(imported, {"a": 1})
        assert not answered(imported, {"a": 1, "deps": {"user": "evil"}}, inject=given).ok
        fixed = bridge.from_pydantic_ai(Tool(orders), deps={"user": "cy"})
        assert answered(fixed, {"a": 1}).value == "cy: 1"

    def test_a_context_without_deps_needs_none(self, bridge):
        from pydantic_ai import RunContext, Tool

        def add(context: RunContext[None], a: int) -> int:
            """Add one."""
            return a + 1

        assert answered(bridge.from_pydantic_ai(Tool(add)), {"a": 1}).value == 2

    def test_an_argument_of_that_name_is_told(self, bridge):
        from pydantic_ai import RunContext, Tool

        def install(context: RunContext[str], deps: list[str]) -> str:
            """Install."""
            return context.deps

        with pytest.raises(UsageError, match="argument named 'deps'"):
            bridge.from_pydantic_ai(Tool(install))
        fixed = bridge.from_pydantic_ai(Tool(install), deps="here")
        assert answered(fixed, {"deps": ["a"]}).value == "here"
