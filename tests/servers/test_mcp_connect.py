"""The tools of servers that we did not write, taken in: called as ours are, and each call answered whatever the server does."""

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import sys
import time
from typing import Any

import mcp_types as types
import pytest
import shop
from fastmcp import FastMCP
from mcp import Client, MCPError
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from responses import outcomes, response
from test_mcp_server import COMMAND, HERE, over_http, run

from toolshape import DefinitionError, Registry, UsageError, tool
from toolshape._families.names import available
from toolshape.ledger import Ledger
from toolshape.mcp import connect, server

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def codes(results: Any) -> list[Any]:
    return [result.error.code if result.error else result.value for result in results]


@pytest.fixture
def fast():
    """A server of fastmcp."""
    made = FastMCP("fast")

    @made.tool(annotations={"readOnlyHint": True, "idempotentHint": True})
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    @made.tool
    def fail() -> str:
        """Fail."""
        raise ValueError("no such thing")

    @made.tool
    def order(lines: list[dict[str, int]]) -> dict[str, int]:
        """Order."""
        return {"lines": len(lines)}

    return made


def served_by_hand(tools, answers, **options):
    """A server that lists and answers whatever it is told."""

    async def listed(context, params):
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])

    async def called(context, params):
        answer = answers[params.name]
        return await answer() if callable(answer) else answer

    return Server("by hand", on_list_tools=listed, on_call_tool=called, **options)


def content(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False, **more}


ANY = {"type": "object"}


@MODES
def test_its_tools_are_tools_like_any_other(mode):
    """Exported to every provider; validated, coerced and answered in the same words; values and parts, not SDK objects."""

    async def main():
        async with connect(server(shop.tools, "shop"), prefix="s", client={"mode": mode}) as remote:
            assert [item.name for item in remote] == [f"s_{item.name}" for item in shop.ALL]
            for provider in available():
                assert remote.export(provider)
            body = response(
                ("s_weather", '{"city": "x", "days": "3"}'),
                ("s_shout", {"text": "a"}),
                ("s_picture", {}),
                ("s_weather", {"town": "x"}),
                ("shout", {"text": "a"}),
            )
            said = []
            results = await remote.adispatch(body)
            await remote.adispatch(
                response(("s_count", {"to": 3})), on_progress=lambda value: said.append(value.done)
            )
            return results, said

    results, said = run(main())
    wrapped = {"result": "A"} if mode == "legacy" else "A"
    assert codes(results)[:2] == [{"degrees": 3, "sky": "clear"}, wrapped]
    assert results[0].text == '{"degrees":3.0,"sky":"clear"}'
    assert [type(part).__name__ for part in results[2].parts] == ["Text", "Image"]
    assert results[2].value == results[2].parts
    assert codes(results)[3:] == ["invalid_arguments", "unknown_tool"]
    assert results[0].coercions
    assert said == [0, 1, 2]


@MODES
def test_failure_reads_as_failure(mode):
    """The 17 lines that are obvious read it as success."""

    async def main():
        async with connect(server(shop.tools, "shop"), client={"mode": mode}) as remote:
            return await remote.adispatch(
                response(("fail", {"how": "told"}), ("fail", {"how": "crash"}), ("lie", {}))
            )

    results = run(main())
    assert codes(results) == ["tool_error"] * 3
    assert results[0].text == "there is no such thing"
    assert results.messages[0]["content"].startswith("Error [tool_error]: there is no such thing")


LYING = [
    (
        {"name": "lie", "inputSchema": ANY, "outputSchema": {"type": "object", "required": ["n"]}},
        content("{}"),
    ),
    (
        {"name": "lie", "inputSchema": ANY, "outputSchema": {"type": "object", "required": ["n"]}},
        content("{}", structuredContent={"m": 1}),
    ),
]


@pytest.mark.parametrize(("listed", "answer"), LYING, ids=["nothing", "other"])
@MODES
def test_an_answer_that_does_not_fit_its_own_schema_is_a_failure(mode, listed, answer):
    async def main():
        made = served_by_hand([listed], {"lie": types.CallToolResult.model_validate(answer)})
        async with connect(made, client={"mode": mode}) as remote:
            return await remote.adispatch(response(("lie", {})))

    [result] = run(main())
    assert result.error.code == "tool_error"
    assert "the MCP server's answer is invalid" in result.text


def test_an_error_may_leave_its_schema_aside():
    async def main():
        failed = types.CallToolResult.model_validate({**content("gone"), "isError": True})
        async with connect(served_by_hand([LYING[0][0]], {"lie": failed})) as remote:
            return await remote.adispatch(response(("lie", {})))

    [result] = run(main())
    assert (result.error.code, result.text) == ("tool_error", "gone")


def test_annotations_license_nothing_unless_the_server_is_trusted(fast, tmp_path):
    """With them, a call whose outcome is unknown would be made again."""

    async def main(trust):
        async with connect(fast_server(fast), trust=trust) as remote:
            return remote["add"].effects, remote.export("mcp")[0].get("annotations")

    effects, annotations = run(main(False))
    assert not effects & {"read", "idempotent", "closed_world"}
    assert not (annotations or {}).get("readOnlyHint")
    effects, annotations = run(main(True))
    assert effects >= {"read", "idempotent"}
    assert annotations["readOnlyHint"] is True


def test_the_effects_that_the_author_says_go_before_the_hints_of_a_server(fast):
    """Whether it is trusted or not."""

    async def main(trust):
        async with connect(fast_server(fast), trust=trust, effects=["destructive"]) as remote:
            return {item.name: item.effects for item in remote}

    for trust in (False, True):
        assert set(run(main(trust)).values()) == {frozenset({"destructive"})}


ODD_SERVER = """
import json, sys

KIND = sys.argv[1]
TOOL = {"name": "t", "inputSchema": {"type": "object", "properties": {}}}
ANSWERS = {"list": [1], "null": None, "text": "x", "number": 5, "true": True}

def send(number, result):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "o", "version": "1"}}
        send(number, about)
    elif method == "tools/list" and KIND == "deep":
        schema = {}
        for _ in range(400):
            schema = {"type": "array", "items": schema}
        deep = {"name": "deep", "inputSchema": {"type": "object", "properties": {"a": schema}}}
        send(number, {"tools": [deep, TOOL]})
    elif method == "tools/list":
        fields = {"n": {"type": "string", "pattern": "^(a|a)*b$"}, "m": {"type": "string", "pattern": "^(?!x)(a|a)*b$"}}
        output = {"outputSchema": {"type": "object", "properties": fields}} if KIND == "pattern" else {}
        send(number, {"tools": [{**TOOL, **output}]})
    elif method == "tools/call" and KIND in ANSWERS:
        print("a line that is no message", flush=True)
        send(number, ANSWERS[KIND])
    elif method == "tools/call":
        text = [{"type": "text", "text": "done"}]
        send(number, {"content": text, "structuredContent": {"n": "a" * 40, "m": "a" * 40}})
    elif number is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}}), flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        *(
            (kind, "the answer is not a valid result")
            for kind in ("list", "null", "text", "number", "true")
        ),
        ("deep", "done"),
        ("pattern", "Invalid structured content"),
    ],
)
def test_whatever_a_server_answers_is_answered(tmp_path, kind, said):
    """What is no result, a list that is nested deeper than the SDK reads, and a pattern that Python searches for ever."""
    (tmp_path / "odd.py").write_text(ODD_SERVER, encoding="utf-8")
    beats = []

    async def beat():
        while True:
            beats.append(time.monotonic())
            await asyncio.sleep(0.02)

    async def main():
        async with connect([sys.executable, str(tmp_path / "odd.py"), kind]) as remote:
            beating = asyncio.ensure_future(beat())
            results = await asyncio.wait_for(remote.adispatch(response(("t", {}))), 20)
            beating.cancel()
            return results[0].text

    assert said in run(main())
    assert max((after - before for before, after in itertools.pairwise(beats)), default=0) < 5


def test_a_change_of_the_list_before_the_subscription_is_heard_of():
    tools = Registry([shop.shout])

    async def main():
        async with connect(server(tools, "shop"), client={"mode": "auto"}) as remote:
            tools.add(shop.weather)
            for _ in range(500):
                if "weather" in remote:
                    return True
                await asyncio.sleep(0.02)
            return False

    assert run(main())


def test_a_server_of_fastmcp_is_taken_as_it_is(fast):
    async def main():
        async with connect(fast) as remote:
            return sorted(item.name for item in remote), (
                await remote.adispatch(response(("add", {"a": 1, "b": 2})))
            )[0]

    names, result = run(main())
    assert "add" in names
    assert result.ok, result.text


def fast_server(made: FastMCP) -> Any:
    return made._mcp_server if hasattr(made, "_mcp_server") else made


@pytest.mark.parametrize(
    ("hints", "effects"),
    [
        ({"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}, set()),
        ({"destructiveHint": True}, {"destructive"}),
        ({"readOnlyHint": False, "destructiveHint": False}, {"write"}),
        ({"openWorldHint": True, "title": "A title"}, {"open_world"}),
        (None, set()),
    ],
)
def test_of_a_server_that_is_not_trusted_only_what_restricts_is_kept(hints, effects):
    listed = {"name": "x", "inputSchema": ANY, **({} if hints is None else {"annotations": hints})}

    async def main():
        async with connect(served_by_hand([listed], {})) as remote:
            return remote["x"].effects, remote["x"].title

    found, title = run(main())
    assert found == effects
    assert title == ("A title" if hints and "title" in hints else None)


def test_options_hold_for_all_of_its_tools(tmp_path):
    """An approval, say: in a plan of ours, before the server is asked."""

    async def main():
        shop.PAID.clear()
        async with connect(server(shop.tools, "shop"), approve=True, untrusted=True) as remote:
            results = await remote.adispatch(response(("pay", {"amount": 5})))
            assert codes(results) == ["pending"]
            assert not shop.PAID
            plan = remote.plan(results)
            plan.approve(plan.pending)
            with Ledger(tmp_path / "calls.db") as ledger:
                await plan.arun(ledger=ledger, scope="c")
            return results

    [result] = run(main())
    assert result.text == '<untrusted source="pay">\npaid 5 to bob\n</untrusted>'


def test_fastmcp_is_taken_in(fast):
    async def main():
        with over_http(_Served(fast)) as url:
            async with connect(url, prefix="fast") as remote:
                return await remote.adispatch(
                    response(
                        ("fast_add", {"a": "2"}),
                        ("fast_fail", {}),
                        ("fast_order", {"lines": [{"n": 1}]}),
                    )
                )

    results = run(main())
    assert codes(results) == [{"result": 3}, "tool_error", {"lines": 1}]


class _Served:
    def __init__(self, made: FastMCP) -> None:
        self.made = made

    def streamable_http_app(self) -> Any:
        return self.made.http_app()


def test_the_sdks_own_server_is_taken_in():
    made = MCPServer("own")

    @made.tool()
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    async def main():
        async with connect(made) as remote, connect(Client(made)) as same:
            return await remote.adispatch(response(("add", {"a": 2}))), await same.adispatch(
                response(("add", {"a": 3}))
            )

    assert [codes(item)[0] for item in run(main())] == [{"result": 3}, {"result": 4}]


@MODES
def test_its_list_is_followed(mode):
    async def main():
        tools = Registry([shop.shout])
        async with connect(server(tools, "shop"), prefix="s", client={"mode": mode}) as remote:
            changed = asyncio.Event()
            remote.on_change(changed.set)
            union = remote | Registry([shop.weather])
            await asyncio.sleep(0.05)  # the subscription stands
            tools.add(shop.count)
            await asyncio.wait_for(changed.wait(), 5)
            results = await remote.adispatch(response(("s_count", {"to": 2})))
            return [item.name for item in remote], [item.name for item in union], codes(results)

    names, union, found = run(main())
    assert names == ["s_shout", "s_count"]
    assert union == ["s_shout", "weather"]
    assert found in ([[0, 1]], [{"result": [0, 1]}])


def test_a_list_of_many_pages_is_taken_in_whole_and_an_endless_one_ends():
    async def listed(context, params):
        number = int((params and params.cursor) or 0)
        entry = types.Tool.model_validate({"name": f"t{number}", "inputSchema": ANY})
        return types.ListToolsResult(tools=[entry], next_cursor=str(number + 1))

    async def main():
        async with connect(Server("endless", on_list_tools=listed)) as remote:
            return len(remote)

    assert run(main()) == 100


def test_a_definition_that_cannot_be_read_is_left_out_and_said(caplog):
    tools = [
        {
            "name": "broken",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        },
        {"name": "right", "inputSchema": ANY},
        {"name": "right", "inputSchema": ANY, "description": "again"},
    ]

    async def main():
        async with connect(served_by_hand(tools, {})) as remote:
            return [(item.name, item.description) for item in remote]

    with caplog.at_level(logging.WARNING, "toolshape"):
        assert run(main()) == [("right", "")]
    assert "broken" in caplog.text
    assert "lists 'right' twice" in caplog.text


def test_of_two_names_that_meet_the_newer_is_left_out_and_said(caplog):
    """Both would be sent as todo_add; the session goes on with the first, whose findings name the other."""
    tools = [{"name": name, "inputSchema": ANY} for name in ("todo.add", "todo_add", "other")]

    async def main():
        async with connect(served_by_hand(tools, {})) as remote:
            return [(item.name, [finding.rule for finding in item.findings]) for item in remote]

    with caplog.at_level(logging.WARNING, "toolshape"):
        names = dict(run(main()))
    assert list(names) == ["todo.add", "other"]
    assert "name_meets" in names["todo.add"]
    assert "'todo_add' of the same server is left out" in caplog.text


RAW = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        said = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "r", "version": "1"}}
    elif asked["method"] == "tools/list" and CAPABILITIES:
        said = {"tools": [{"name": "good", "inputSchema": {"type": "object"}}, {"name": "bad", "inputSchema": {}}]}
    else:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


def test_a_list_that_is_none_and_no_list_at_all(tmp_path):
    async def listed(capabilities):
        path = tmp_path / "raw.py"
        path.write_text(f"CAPABILITIES = {capabilities}\n{RAW}", encoding="utf-8")
        async with connect([sys.executable, str(path)]) as remote:
            return list(remote)

    assert run(listed({})) == []
    with pytest.raises(
        UsageError, match=r"lists an invalid tool \(tools.1.inputSchema.type: Field required\)"
    ):
        run(listed({"tools": {}}))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"timeout": -1}, DefinitionError, "timeout: must be a number of seconds above 0"),
        ({"name": "x"}, UsageError, "name= would give all tools the same name"),
        ({"prefix": ""}, UsageError, "prefix= must be a non-empty string"),
        ({"prefix": 5}, UsageError, "prefix= must be a non-empty string"),
    ],
)
def test_wrong_options_are_the_callers(options, error, said):
    with pytest.raises(error, match=said):
        connect(server(Registry([]), "s"), **options)


def test_options_of_a_client_are_for_one_that_is_made_here():
    with pytest.raises(UsageError, match="client= does not apply to a Client"):
        connect(Client(server(Registry([]), "s")), client={"mode": "legacy"})
    with pytest.raises(UsageError, match="No closing quotation"):
        connect("'unclosed")


def test_a_result_of_a_class_of_ones_own_is_one():
    class Mine(types.CallToolResult):
        """With something added."""

    def failing() -> str:
        """Fail."""
        return Mine(content=[types.TextContent(type="text", text="no")], is_error=True)

    body = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "failing", "input": {}}],
    }
    [result] = Registry([failing]).dispatch(body)
    assert (result.error.code, result.text) == ("tool_error", "no")


def test_a_link_that_only_the_server_can_follow_is_a_text():
    def linking(uri: str) -> str:
        """Link."""
        return types.CallToolResult(
            content=[types.ResourceLink(type="resource_link", uri=uri, name="main.rs")]
        )

    tools = Registry([linking])
    for uri, kind in (
        ("file:///src/main.rs", "text"),
        ("javascript:alert(1)", "text"),
        ("https://x.org/a.pdf", "document"),
    ):
        call = {"type": "tool_use", "id": "a", "name": "linking", "input": {"uri": uri}}
        [message] = tools.dispatch(
            {"type": "message", "role": "assistant", "content": [call]}
        ).messages
        [block] = message["content"]
        sent = block["content"]
        assert kind == ("text" if isinstance(sent, str) else sent[0]["type"]), sent
        assert uri in str(sent)


def test_names_of_arguments_are_its_own():
    """Whatever we call what we give our own functions."""
    schema = {
        "type": "object",
        "properties": {"name": {}, "self": {}, "context": {}, "arguments": {}},
    }
    got = []

    async def called(context, params):
        got.append(params.arguments)
        return types.CallToolResult.model_validate(content("ok"))

    async def listed(context, params):
        return types.ListToolsResult(tools=[types.Tool(name="x", input_schema=schema)])

    async def main():
        given = {"name": 1, "self": 2, "context": 3, "arguments": 4}
        async with connect(Server("odd", on_list_tools=listed, on_call_tool=called)) as remote:
            assert codes(await remote.adispatch(response(("x", given)))) == ["ok"]
        return got == [given]

    assert run(main())


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["stdio", "http"])
@MODES
def test_a_server_that_is_killed_in_the_midst_answers_once(mode, kind):
    """And what is asked of it later is answered, too."""

    async def killed(where, pid):
        async with connect(where, client={"mode": mode}) as remote:
            [first] = await remote.adispatch(response(("wait", {"seconds": 0})))
            asked = asyncio.ensure_future(
                remote.adispatch(response(("wait", {"seconds": 30}), ("shout", {"text": "a"})))
            )
            await asyncio.sleep(0.5)
            os.kill(pid or _value(first), signal.SIGKILL)
            return await asked, await remote.adispatch(response(("shout", {"text": "b"})))

    async def main():
        if kind == "stdio":
            return await killed(COMMAND, None)
        command = [sys.executable, "-m", "toolshape", "mcp", "shop:tools", "--http", "--port", "0"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, env=COMMAND.env, cwd=HERE, stderr=pipe, stdout=pipe
        )
        try:
            while b"running on" not in (line := await process.stderr.readline()):
                assert line
            url = line.split(b"running on ")[1].split()[0].decode()
            return await killed(f"{url}/mcp", process.pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

    first, later = run(main())
    assert first[0].error.code == "tool_error"
    assert "lost" in first[0].text
    assert first[1].ok
    assert later[0].error.code == "tool_error"
    assert "the connection to the MCP server" in later[0].text


def _value(result: Any) -> int:
    return int(result.value["result"] if isinstance(result.value, dict) else result.value)


@MODES
def test_a_call_that_takes_too_long_or_is_cancelled_is_answered_once(mode):
    async def main():
        async with connect(
            server(shop.tools, "shop"), timeout=0.2, client={"mode": mode}
        ) as remote:
            late = await remote.adispatch(response(("wait", {"seconds": 20})))
            plan = remote.plan(response(("wait", {"seconds": 20})), provider="openai")
            running = asyncio.ensure_future(plan.arun())
            await asyncio.sleep(0.05)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            after = await remote.adispatch(response(("shout", {"text": "a"})))
            return late, plan.results, after

    shop.CANCELLED.clear()
    late, cancelled, after = run(main())
    assert codes(late) == ["tool_timeout"]
    assert codes(cancelled) == ["cancelled"]
    assert after[0].ok


def test_a_server_that_does_not_answer_in_time_is_said_so():
    async def never():
        await asyncio.sleep(20)

    async def main():
        made = served_by_hand([{"name": "x", "inputSchema": ANY}], {"x": never})
        async with connect(made, client={"read_timeout_seconds": 0.2}) as remote:
            return await remote.adispatch(response(("x", {})))

    [result] = run(main())
    assert result.error.code == "tool_error"
    assert "did not answer x in time" in result.text


def test_an_error_of_the_protocol_is_an_error_of_the_call():
    async def refuse():
        raise MCPError(-32602, "no such thing here")

    async def main():
        async with connect(
            served_by_hand([{"name": "x", "inputSchema": ANY}], {"x": refuse})
        ) as remote:
            return await remote.adispatch(response(("x", {})))

    [result] = run(main())
    assert result.text == "the MCP server refused to call x: no such thing here"


def test_a_connection_that_has_ended_is_said_so():
    async def main():
        async with connect(server(shop.tools, "shop")) as remote:
            pass
        return await remote.adispatch(response(("shout", {"text": "a"})))

    [result] = run(main())
    assert result.text == "the connection to the MCP server is lost: shout cannot be called"


def test_calls_from_other_loops_and_threads_are_made_in_the_loop_that_connected():
    async def main():
        async with connect(server(shop.tools, "shop")) as remote:
            body = response(("shout", {"text": "a"}), ("shout", {"text": "b"}))
            return await asyncio.to_thread(remote.dispatch, body)

    assert outcomes(run(main())) == ["A", "B"]


def test_what_is_no_server_is_refused_and_nobody_there_is_said():
    for wrong in (5, [], [1], None):
        with pytest.raises(UsageError, match=r"connect takes a server|a command must be"):
            connect(wrong)

    async def main():
        for nobody, error in (
            ("/nonexistent/command --x", FileNotFoundError),
            ("http://127.0.0.1:9/mcp", Exception),
            ([sys.executable, "-c", ""], MCPError),
        ):
            with pytest.raises(error) as caught:
                async with connect(nobody):
                    pass
            assert not hasattr(caught.value, "exceptions")

    run(main())


def test_what_the_caller_raises_comes_out_as_it_is():
    async def main():
        async with connect(server(shop.tools, "shop")):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(main())


def test_ten_thousand_calls_and_their_answers():
    @tool
    async def echo(n: int) -> int:
        """Echo."""
        return n

    async def main():
        async with connect(server(Registry([echo]), "shop")) as remote:
            found = []
            for begin in range(0, 10_000, 500):
                body = response(*(("echo", {"n": n}) for n in range(begin, begin + 500)))
                found += codes(await remote.adispatch(body))
            return found

    assert run(main()) == list(range(10_000))


def test_what_was_taken_in_is_served_again():
    """With its output schemas, its structured content and its parts."""

    async def main():
        async with (
            connect(server(shop.tools, "shop")) as remote,
            Client(server(remote, "proxy")) as client,
        ):
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            return listed, [
                await client.call_tool("weather", {"city": "x", "days": "2"}),
                await client.call_tool("shout", {"text": "a"}),
                await client.call_tool("picture", {}),
                await client.call_tool("fail", {"how": "told"}),
            ]

    listed, (weather, shout, picture, failed) = run(main())
    assert listed["weather"].output_schema["properties"]["degrees"]
    assert weather.structured_content == {"degrees": 2, "sky": "clear"}
    assert shout.structured_content == "A"
    assert [item.type for item in picture.content] == ["text", "image"]
    assert failed.is_error
