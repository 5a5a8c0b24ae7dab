"""The first agent that each framework's pages show, with our tools in its list; and its tools as ours."""

import asyncio
import os

import pytest

from toolshape import Image, Registry, ToolError, UsageError, tool
from toolshape.testing import Fake

pytestmark = pytest.mark.filterwarnings("ignore")


def only(name):
    """Run a test in the session of one framework."""
    return pytest.mark.skipif(
        os.environ.get("TOOLSHAPE_FRAMEWORK") != name, reason=f"nox -s bridges, for {name}"
    )


@tool
def weather(city: str) -> str:
    """Say what the weather is in a city."""
    return f"It is sunny in {city}."


TOOLS = Registry([weather])


@pytest.fixture
def fake(request, monkeypatch):
    """A provider that asks for the weather in Bonn, and then says that it is sunny."""
    provider = (
        "openai-responses" if os.environ.get("TOOLSHAPE_FRAMEWORK") == "openai_agents" else "openai"
    )
    with Fake(provider, TOOLS) as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        made.calls("weather", city="Bonn")
        made.says("Sunny.")
        yield made
        made.assert_done()
        assert not made.refused
        assert "It is sunny in Bonn." in str(made.exchanges[1].request)


@only("pydantic_ai")
def test_the_first_agent_of_pydantic_ai(fake):
    """As on its page of function tools: a model by its name, instructions, tools, and ``run_sync``."""
    from pydantic_ai import Agent

    from toolshape.bridges.pydantic_ai import to_pydantic_ai

    agent = Agent("openai-chat:gpt-5", instructions="Be brief.", tools=to_pydantic_ai(TOOLS))
    assert agent.run_sync("What is the weather in Bonn?").output == "Sunny."


@only("pydantic_ai")
def test_a_stream_of_pydantic_ai(fake):
    from pydantic_ai import Agent

    from toolshape.bridges.pydantic_ai import to_pydantic_ai

    async def run():
        agent = Agent("openai-chat:gpt-5", tools=to_pydantic_ai(TOOLS))
        async with agent.run_stream("What is the weather in Bonn?") as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    assert asyncio.run(run()) == "Sunny."


@only("pydantic_ai")
@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("anthropic", "anthropic"),
        ("google", "gemini"),
        ("bedrock", "bedrock"),
        ("openai", "openai"),
        ("other", "json-schema"),
    ],
)
def test_each_model_of_pydantic_ai_has_the_form_of_its_provider(model, provider):
    """By the name of its class; a wrapper, as for spans, is looked into."""
    from pydantic_ai.models.wrapper import WrapperModel

    from toolshape.bridges.pydantic_ai import _provider_of

    names = {
        "anthropic": "AnthropicModel",
        "google": "GoogleModel",
        "bedrock": "BedrockConverseModel",
        "openai": "OpenAIChatModel",
    }
    made = type(names.get(model, "OwnModel"), (), {"system": model})()
    wrapper = WrapperModel.__new__(WrapperModel)
    wrapper.wrapped = made
    assert _provider_of(made) == _provider_of(wrapper) == provider
    cohere = type("CohereModel", (), {"system": "cohere"})()
    of_one, of_two = (
        type("FallbackModel", (), {"models": models})()
        for models in ([made, wrapper], [made, cohere])
    )
    assert (_provider_of(of_one), _provider_of(of_two)) == (provider, "json-schema")


@only("pydantic_ai")
def test_classes_of_models_are_those_of_pydantic_ai():
    """Each name in our table is a class of its model modules, so that a rename there fails here."""
    import re
    from pathlib import Path

    import pydantic_ai.models

    from toolshape.bridges.pydantic_ai import _PROVIDERS

    folder = Path(pydantic_ai.models.__file__).parent
    found = {
        name
        for file in folder.rglob("*.py")
        for name in re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE)
    }
    assert _PROVIDERS.keys() <= found


@only("pydantic_ai")
def test_tools_of_pydantic_ai_as_ours():
    """Their schema, their validation, their errors, their approval and their images."""
    from pydantic_ai import (
        ApprovalRequired,
        BinaryContent,
        ModelRetry,
        RunContext,
        Tool,
        ToolReturn,
    )

    from toolshape.bridges.pydantic_ai import from_pydantic_ai

    def area(ctx: RunContext[int], width: int, height: int = 2) -> int:
        """Measure an area."""
        if width == 13:
            raise ModelRetry("not 13")
        return ctx.deps * width * height

    async def picture() -> ToolReturn:
        """Take a picture."""
        return ToolReturn(["seen", BinaryContent(b"\x89PNG", media_type="image/png")])

    def pay(ctx: RunContext[int], amount: int) -> str:
        """Pay."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"paid {amount}"

    def small(ctx: RunContext[int], width: int, height: int = 2) -> None:
        if width > 50:
            raise ModelRetry("too wide")

    async def hidden(ctx, definition):
        return None

    asks = Tool(area, name="asks", requires_approval=True)
    checked, unavailable = (
        Tool(area, name="checked", args_validator=small),
        Tool(area, name="unavailable", prepare=hidden),
    )
    given = (Tool(area), Tool(picture), asks, Tool(pay), checked, unavailable)
    tools = Registry([from_pydantic_ai(made, deps=10) for made in given])
    assert tools.dispatch({"name": "pay", "arguments": {"amount": 5}})[0].error.code == "tool_error"
    decided = Registry([from_pydantic_ai(Tool(pay), approve=True)]).plan(
        {"name": "pay", "arguments": {"amount": 5}}
    )
    decided.approve(decided.pending)
    assert decided.run(inject={"deps": 10})[0].value == "paid 5"
    for name, text in (("checked", "too wide"), ("unavailable", "unavailable is not available")):
        assert tools.dispatch({"name": name, "arguments": {"width": 51}})[0].text == text
    assert tools["area"].input_schema["properties"].keys() == {"width", "height"}
    results = [
        tools.dispatch({"name": "area", "arguments": {"width": width}})[0]
        for width in ("3", 13, "x")
    ]
    assert (results[0].value, results[0].coercions[0].rule) == (60, "number_text")
    assert (results[1].error.code, results[1].error.retryable, results[1].text) == (
        "tool_error",
        True,
        "not 13",
    )
    assert results[2].error.code == "invalid_arguments"
    [seen] = tools.dispatch({"name": "picture", "arguments": {}})
    assert seen.parts[1] == Image(b"\x89PNG")
    assert tools.dispatch({"name": "asks", "arguments": {"width": 1}}).pending
    with pytest.raises(UsageError, match="takes a pydantic-ai Tool, not function"):
        from_pydantic_ai(area)


@only("openai_agents")
def test_the_first_agent_of_openai_agents(fake):
    """As on its first page: a name, instructions, tools, and ``Runner.run_sync``."""
    from agents import Agent, Runner, set_tracing_disabled

    from toolshape.bridges.openai_agents import to_openai_agents

    set_tracing_disabled(True)
    agent = Agent(
        name="Assistant", instructions="Be brief.", model="gpt-5", tools=to_openai_agents(TOOLS)
    )
    assert Runner.run_sync(agent, "What is the weather in Bonn?").final_output == "Sunny."


@only("openai_agents")
def test_tools_of_openai_agents_as_ours():
    """Their schema, their validation, their approval and their images."""
    from agents import (
        RunContextWrapper,
        ToolGuardrailFunctionOutput,
        ToolOutputImage,
        function_tool,
        tool_input_guardrail,
    )

    from toolshape.bridges.openai_agents import from_openai_agents

    @function_tool
    def area(ctx: RunContextWrapper[int], width: int, height: int = 2) -> int:
        """Measure an area."""
        return ctx.context * width * height

    @function_tool
    async def picture() -> ToolOutputImage:
        """Take a picture."""
        return ToolOutputImage(image_url="data:image/png;base64,iVBORw==")

    def picture_of() -> str:
        """Take a picture."""
        return ""

    @tool_input_guardrail
    def refuse(data):
        return ToolGuardrailFunctionOutput.reject_content("no")

    @function_tool(needs_approval=True, timeout=5)
    async def asks() -> str:
        """Ask."""
        return "ran"

    tools = Registry([from_openai_agents(made, context=10) for made in (area, picture, asks)])
    [result] = tools.dispatch({"name": "area", "arguments": {"width": "3", "height": 4}})
    assert (result.value, result.coercions[0].rule) == (120, "number_text")
    assert (
        tools.dispatch({"name": "area", "arguments": {"width": "x"}})[0].error.code
        == "invalid_arguments"
    )
    assert tools.dispatch({"name": "picture", "arguments": {}})[0].parts == (Image(b"\x89PNG"),)
    assert tools.dispatch({"name": "asks", "arguments": {}}).pending
    assert tools["asks"].timeout == 5
    for made in (
        function_tool(is_enabled=False)(picture_of),
        function_tool(tool_input_guardrails=[refuse])(picture_of),
    ):
        with pytest.raises(UsageError, match="which the SDK checks only during a run"):
            from_openai_agents(made)
    with pytest.raises(UsageError, match="takes a FunctionTool, not function"):
        from_openai_agents(weather.function)


@only("langchain")
def test_the_first_agent_of_langchain(fake):
    """As on its first page: a model by its name, tools, a system prompt, and ``invoke``."""
    from langchain.agents import create_agent

    from toolshape.bridges.langchain import to_langchain

    agent = create_agent("openai:gpt-5", tools=to_langchain(TOOLS), system_prompt="Be brief.")
    answer = agent.invoke(
        {"messages": [{"role": "user", "content": "What is the weather in Bonn?"}]}
    )
    assert answer["messages"][-1].text == "Sunny."
    assert answer["messages"][-2].artifact == {"coercions": [], "error": None, "replayed": False}


@only("langchain")
def test_the_first_graph_of_langgraph(fake):
    """As on its page of tools: a model with tools, a ``ToolNode``, and an edge that says where to go; our own export is bound."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    from toolshape.bridges.langchain import to_langchain

    model = ChatOpenAI(model="gpt-5").bind_tools(TOOLS.export("openai"))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(to_langchain(TOOLS, strict="auto")))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    answer = graph.compile().invoke({"messages": [("user", "What is the weather in Bonn?")]})
    assert answer["messages"][-1].text == "Sunny."
    assert fake.exchanges[0].request["tools"] == TOOLS.export("openai")


@only("langchain")
def test_outside_a_graph_a_tool_is_invoked_as_others_are(tmp_path):
    """With arguments, or with a call; what needs approval is denied."""
    from langchain_core.tools import ToolException

    from toolshape.bridges.langchain import to_langchain
    from toolshape.ledger import Ledger

    @tool(effects=["write"], approve=True)
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("nobody approved")

    tools = {
        made.name: made
        for made in to_langchain(Registry([weather, pay]), ledger=Ledger(tmp_path / "calls.db"))
    }
    assert tools["weather"].invoke({"city": "Bonn"}) == "It is sunny in Bonn."
    assert asyncio.run(tools["weather"].ainvoke({"city": "Bonn"})) == "It is sunny in Bonn."
    with pytest.raises(ToolException, match="town: unknown field"):
        tools["weather"].invoke({"town": "Bonn"})
    called = {"type": "tool_call", "id": "1", "name": "pay", "args": {"amount": 5}}
    message = tools["pay"].invoke(called)
    assert (message.status, message.tool_call_id) == ("error", "1")
    assert (
        "the call needs approval, which is only possible inside a LangGraph graph"
        in message.content
    )


@only("langchain")
def test_parts_of_the_runtime_are_injected(fake):
    """By the type or the marker of a parameter: none is shown to the model."""
    from typing import Annotated, Any

    from langchain.agents import create_agent
    from langchain.tools import ToolRuntime
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import InjectedToolCallId
    from langgraph.prebuilt import InjectedState, InjectedStore
    from langgraph.store.memory import InMemoryStore

    from toolshape.bridges.langchain import to_langchain

    seen: dict[str, Any] = {}

    @tool(name="weather")
    def look(
        city: str,
        runtime: ToolRuntime[str],
        call_id: Annotated[str, InjectedToolCallId],
        state: Annotated[dict[str, Any], InjectedState],
        messages: Annotated[list[Any], InjectedState("messages")],
        store: Annotated[Any, InjectedStore()],
        config: RunnableConfig,
    ) -> str:
        """Say what the weather is in a city."""
        seen.update(
            runtime=runtime,
            call_id=call_id,
            state=state,
            messages=messages,
            store=store,
            config=config,
        )
        return f"It is sunny in {city}."

    store = InMemoryStore()
    made = to_langchain(Registry([look]))
    agent = create_agent("openai:gpt-5", tools=made, store=store, context_schema=str)
    config = {"configurable": {"thread_id": "12"}}
    agent.invoke({"messages": [("user", "What is the weather in Bonn?")]}, config, context="ann")
    assert fake.exchanges[0].request["tools"][0]["function"]["parameters"]["properties"].keys() == {
        "city"
    }
    assert seen["runtime"].context == "ann"
    assert (
        seen["call_id"] == seen["runtime"].tool_call_id == seen["messages"][-1].tool_calls[0]["id"]
    )
    assert seen["state"]["messages"] == seen["messages"]
    assert seen["store"] is store
    assert seen["config"]["configurable"]["thread_id"] == "12"


@only("langchain")
def test_an_answer_that_is_no_decision_can_be_given_again(tmp_path, monkeypatch):
    """The graph still waits; a rejection without words is one, too."""
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from toolshape.bridges.langchain import to_langchain
    from toolshape.ledger import Ledger

    @tool(effects=["write"], approve=True)
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("nobody approved")

    tools, thread = Registry([pay]), {"configurable": {"thread_id": "1"}}
    with Fake("openai", tools) as provider, Ledger(tmp_path / "calls.db") as ledger:
        for name, value in provider.env.items():
            monkeypatch.setenv(name, value)
        provider.calls("pay", amount=5)
        provider.says("Not paid.")
        agent = create_agent(
            "openai:gpt-5", tools=to_langchain(tools, ledger=ledger), checkpointer=InMemorySaver()
        )
        agent.invoke({"messages": [("user", "Pay 5.")]}, thread)
        edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": "much"}}}
        other = {"type": "edit", "edited_action": {"name": "mail", "args": {"amount": 5}}}
        for wrong, said in (
            ("yes", "Input should be a valid dictionary"),
            (edit, "amount: expected integer"),
            (other, "an edit cannot change the tool"),
        ):
            with pytest.raises(ValueError, match=said):
                agent.invoke(Command(resume=wrong), thread)
        answer = agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), thread)
        assert answer["messages"][-2].status == "error"
        assert answer["messages"][-1].text == "Not paid."


@pytest.fixture
def paying(tmp_path):
    """A tool that pays large sums after approval, as LangChain takes it, and what was paid."""
    from toolshape.bridges.langchain import to_langchain
    from toolshape.ledger import Ledger

    paid = []

    @tool(effects=["write"], approve=lambda arguments: arguments["amount"] > 100)
    def pay(amount: int, to: str) -> str:
        """Pay."""
        paid.append((amount, to))
        return f"paid {amount} to {to}"

    with Ledger(tmp_path / "calls.db") as ledger:
        yield to_langchain(Registry([pay]), ledger=ledger)[0], paid


def graph_of(node):
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    return graph.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}


def calls_of(*amounts, prefix="call"):
    from langchain_core.messages import AIMessage

    calls = [
        {
            "type": "tool_call",
            "id": f"{prefix}_{at}",
            "name": "pay",
            "args": {"amount": amount, "to": f"person {at}"},
        }
        for at, amount in enumerate(amounts)
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]}


@only("langchain")
def test_several_calls_that_wait_in_one_tool_node_are_denied(paying):
    """LangGraph matches answers by their order, which threads do not have; one call that waits is asked for."""
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command

    pay, paid = paying
    graph, thread = graph_of(ToolNode([pay]))
    answers = graph.invoke(calls_of(500, 900), thread)["messages"][1:]
    assert (paid, [answer.status for answer in answers]) == ([], ["error", "error"])
    assert all("call one tool at a time" in answer.content for answer in answers)
    graph, thread = graph_of(ToolNode([pay]))
    assert graph.invoke(calls_of(500, prefix="other"), thread)["__interrupt__"]
    assert (
        graph.invoke(Command(resume={"type": "approve"}), thread)["messages"][-1].content
        == "paid 500 to person 0"
    )


@only("langchain")
def test_calls_of_one_node_keep_their_answers(paying):
    """A node that calls a tool twice runs again for each answer: the first is paid once, and the second is rejected."""
    from langgraph.types import Command

    pay, paid = paying
    graph, thread = graph_of(
        lambda state: {"messages": [pay.invoke(call) for call in state["messages"][-1].tool_calls]}
    )
    for answer in (None, {"type": "approve"}, {"type": "reject"}):
        state = graph.invoke(
            calls_of(500, 900) if answer is None else Command(resume=answer), thread
        )
    assert paid == [(500, "person 0")]
    assert [message.status for message in state["messages"][1:]] == ["success", "error"]


@only("langchain")
def test_injected_values_are_made_once_for_each_run_of_a_node(tmp_path):
    """A function may open a session; a call that needs approval has no second one."""
    from toolshape import Injected
    from toolshape.bridges.langchain import to_langchain
    from toolshape.ledger import Ledger

    made = []

    @tool(effects=["write"], approve=lambda arguments: arguments["amount"] > 100)
    def spend(amount: int, *, session: Injected[int]) -> str:
        """Spend."""
        return f"spent in session {session}"

    def inject(runtime):
        made.append(runtime.tool_call_id)
        return {"session": len(made)}

    with Ledger(tmp_path / "calls.db") as ledger:
        [ours] = to_langchain(Registry([spend]), ledger=ledger, inject=inject)
        call = {"type": "tool_call", "id": "call_1", "name": "spend", "args": {"amount": 5}}
        assert ours.invoke(call).content == "spent in session 1"
    assert made == ["call_1"]


@only("langchain")
def test_a_call_without_an_id_is_not_asked_for(paying):
    from langchain_core.tools import ToolException

    pay, paid = paying
    graph, thread = graph_of(
        lambda state: {"messages": [("tool", pay.invoke({"amount": 500, "to": "ann"}))]}
    )
    with pytest.raises(ToolException, match="has no id"):
        graph.invoke({"messages": []}, thread)
    assert paid == []


@only("langchain")
def test_tools_of_langchain_as_ours():
    """Their schema, their validation, their errors and their images."""
    from langchain_core.tools import ToolException, tool as langchain_tool

    from toolshape.bridges.langchain import from_langchain

    @langchain_tool
    def area(width: int, height: int = 2) -> str:
        """Measure an area."""
        if width == 13:
            raise ToolException("not 13")
        return str(width * height)

    @langchain_tool
    async def picture() -> list[dict[str, str]]:
        """Take a picture."""
        image = {"type": "image", "base64": "iVBORw==", "mime_type": "image/png"}
        return [
            {"type": "text", "text": "seen"},
            image,
            {"type": "image", "url": "https://e.org/a.png", "id": "1"},
        ]

    tools = Registry([from_langchain(made) for made in (area, picture)])
    results = [
        tools.dispatch({"name": "area", "arguments": {"width": width}})[0]
        for width in ("3", 13, "x")
    ]
    assert (results[0].value, results[0].coercions[0].rule) == ("6", "number_text")
    assert (results[1].error.code, results[1].text) == ("tool_error", "not 13")
    assert isinstance(results[1].error.__cause__, ToolError)
    assert results[2].error.code == "invalid_arguments"
    [seen] = tools.dispatch({"name": "picture", "arguments": {}})
    assert seen.parts[1:] == (Image(b"\x89PNG"), Image(url="https://e.org/a.png"))
    with pytest.raises(UsageError, match="takes a LangChain tool, not function"):
        from_langchain(weather.function)
