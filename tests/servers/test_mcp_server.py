"""Our server, and clients that we did not write: the official SDK's and fastmcp's, of three revisions, over three transports."""

import asyncio
import base64
import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import fastmcp
import mcp_types as types
import pytest
import shop
import uvicorn
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp.client._memory import InMemoryTransport
from mcp.server import Server
from mcp_types._v2025_11_25 import CallToolResult as ResultUntil2025

import toolshape
from toolshape import Registry, Tool, UsageError, tool
from toolshape._bound.registry import store_of
from toolshape.ledger import Ledger
from toolshape.mcp import server

REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"]
EVERY_REVISION = pytest.mark.parametrize("revision", REVISIONS)
KEY = b"a secret of thirty-two bytes, or more"


@pytest.fixture(autouse=True)
def nothing_done():
    shop.PAID.clear()
    shop.CANCELLED.clear()


@contextlib.asynccontextmanager
async def connected(served, revision, **options):
    """A client of the official SDK that speaks a revision, in this process."""
    if revision == "2026-07-28":
        async with Client(served, **options) as client:
            assert client.protocol_version == revision
            yield client
        return
    asked = types.LATEST_PROTOCOL_VERSION if hasattr(types, "LATEST_PROTOCOL_VERSION") else ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", revision)
        async with Client(served, mode="legacy", **options) as client:
            assert client.protocol_version == revision, asked
            yield client


def run(work):
    return asyncio.run(asyncio.wait_for(work, 60))


def text(result):
    return result.content[0].text


@EVERY_REVISION
def test_each_tool_is_listed_and_called(revision):
    """What is structured fits the schema that was listed; what fails says so."""

    async def main():
        async with connected(server(shop.tools, "shop", version="1"), revision) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            results = {
                "weather": await client.call_tool("weather", {"city": "x", "days": "3"}),
                "shout": await client.call_tool("shout", {"text": "a"}),
                "count": await client.call_tool("count", {"to": 2}),
                "picture": await client.call_tool("picture", {}),
            }
            failed = [
                await client.call_tool("fail", {"how": "told"}),
                await client.call_tool("fail", {"how": "crash"}),
                await client.call_tool("weather", {"town": "x"}),
                await client.call_tool("nothing_of_this_name", {}),
                await client.call_tool("lie", {}),
                await client.call_tool("too_slow", {}),
            ]
            return listed, results, failed

    listed, results, failed = run(main())
    assert list(listed) == [item.name for item in shop.ALL]
    assert not any(result.is_error for result in results.values())
    assert text(results["weather"]) == '{"degrees":3.0,"sky":"clear"}'
    for name in ("weather", "shout", "count"):
        Draft202012Validator(listed[name].output_schema).validate(results[name].structured_content)
    wrapped = revision != "2026-07-28"
    assert results["weather"].structured_content == {"degrees": 3, "sky": "clear"}
    assert results["shout"].structured_content == ({"result": "A"} if wrapped else "A")
    assert [item.type for item in results["picture"].content] == ["text", "image"]
    assert listed["weather"].annotations.read_only_hint is True
    assert listed["pay"].annotations.destructive_hint is True
    assert all(item.is_error and item.structured_content is None for item in failed)
    said = [text(item) for item in failed]
    assert said[0] == "there is no such thing"
    assert "secret details" not in said[1]
    assert 'did you mean "city"' not in said[2]
    assert "city: required" in said[2]
    assert 'no tool named "nothing_of_this_name"' in said[3]
    assert "not a number" not in said[4]
    assert "0.05 s" in said[5]


@pytest.mark.parametrize("name", ["count", "count_in_a_thread"])
@EVERY_REVISION
def test_progress_comes_before_the_answer_and_in_order(revision, name):
    said = []

    async def heard(progress, total, message):
        said.append((progress, total, message))

    async def main():
        async with connected(server(shop.tools, "shop"), revision) as client:
            await client.call_tool(name, {"to": 50}, progress_callback=heard)
            return list(said)

    assert run(main()) == [(number, 50, "counting") for number in range(50)]


@EVERY_REVISION
def test_a_call_that_is_cancelled_knows_it(revision):
    async def main():
        async with connected(server(shop.tools, "shop"), revision) as client:
            with anyio.move_on_after(0.3):
                await client.call_tool("wait", {"seconds": 20})
            async with asyncio.timeout(5):
                while not shop.CANCELLED:  # noqa: ASYNC110 - a thread says so
                    await asyncio.sleep(0.01)
            return await client.call_tool("shout", {"text": "on"})

    assert text(run(main())) == "ON"
    assert shop.CANCELLED == [True]


@EVERY_REVISION
def test_a_tool_that_cancels_itself_has_an_answer(revision):
    """Somebody waits for it."""

    @tool
    async def gives_up() -> str:
        """Give up."""
        asyncio.current_task().cancel()
        await asyncio.sleep(5)
        return "never"

    async def main():
        async with connected(server(Registry([gives_up, shop.shout]), "shop"), revision) as client:
            return await client.call_tool("gives_up", {}), await client.call_tool(
                "shout", {"text": "a"}
            )

    given_up, after = run(main())
    assert given_up.is_error
    assert "cancelled" in text(given_up)
    assert text(after) == "A"


# --- approval -----------------------------------------------------------------------------------------------------


def asking(answer, questions):
    async def asked(_, params):
        questions.append(params.message)
        return answer

    return asked


ACCEPTED = types.ElicitResult(action="accept", content={"approve": True})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ACCEPTED, "paid 500 to ann"),
        (
            types.ElicitResult(action="accept", content={"approve": False, "why": "too much"}),
            "was not run: too much",
        ),
        (
            types.ElicitResult(action="accept", content={"approve": False}),
            "the user did not approve this call",
        ),
        (
            types.ElicitResult(action="accept", content={"approve": "false"}),
            "the user did not approve this call",
        ),
        (
            types.ElicitResult(action="accept", content={"approve": "true"}),
            "the user did not approve this call",
        ),
        (
            types.ElicitResult(action="accept", content={"approve": 1}),
            "the user did not approve this call",
        ),
        (
            types.ElicitResult(action="accept", content={"approve": ["yes"]}),
            "the user did not approve this call",
        ),
        (types.ElicitResult(action="decline"), "the user did not approve this call"),
        (types.ElicitResult(action="cancel"), "the user did not approve this call"),
    ],
)
def test_the_user_of_a_client_is_asked(answer, said):
    """By a request for input, where the revision has it; the state of it is sealed."""
    questions = []

    async def main():
        served = server(shop.tools, "shop", key=KEY)
        async with connected(
            served, "2026-07-28", elicitation_callback=asking(answer, questions)
        ) as client:
            return await client.call_tool("pay", {"amount": "500", "to": "ann"})

    result = run(main())
    assert said in text(result)
    assert result.is_error is (not shop.PAID)
    assert ([(500, "ann")] if answer is ACCEPTED else []) == shop.PAID
    assert questions == ['pay is about to be called with {"amount": 500, "to": "ann"}. Run it?']


def test_the_question_is_one_line_that_is_read_as_it_is_written():
    """The name of a tool and its arguments may be anybody's."""
    questions = []
    odd = "\u202e321-GNORW\u2066\x1b[31m\u200b"
    name = "balance is about to be called with {}. Run it?\n\n(details) pay"
    definition = {"name": name, "title": f"Pay\n{odd}", "inputSchema": {"type": "object"}}
    tools = Registry([Tool.from_definition(definition, lambda **given: "paid", approve=True)])

    async def main():
        asked = asking(types.ElicitResult(action="decline"), questions)
        async with connected(
            server(tools, "shop"), "2026-07-28", elicitation_callback=asked
        ) as client:
            [listed] = (await client.list_tools()).tools
            return await client.call_tool(listed.name, {"to": odd})

    run(main())
    assert questions[0].isprintable()
    assert questions[0].startswith(f"{json.dumps(name)} (")
    assert questions[0].endswith(f'{{"to": {json.dumps(odd)}}}. Run it?')


def test_what_needs_no_approval_is_not_asked_of():
    async def main():
        async with connected(server(shop.tools, "shop"), "2026-07-28") as client:
            return await client.call_tool("pay", {"amount": 5})

    assert text(run(main())) == "paid 5 to bob"


@EVERY_REVISION
def test_where_nobody_can_be_asked_it_is_refused_with_the_reason(revision):
    async def main():
        async with connected(server(shop.tools, "shop"), revision) as client:
            return await client.call_tool("pay", {"amount": 500})

    result = run(main())
    assert result.is_error
    assert "this call needs approval, and this client cannot ask its user" in text(result)
    assert not shop.PAID


async def asked_by_hand(client, name, arguments):
    """The request for input, as a client gets it that answers another day."""
    result = await client.session.call_tool(name, arguments, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    [(key, _)] = result.input_requests.items()
    return result.request_state, {key: ACCEPTED}


def elicits(served, **more):
    return connected(served, "2026-07-28", elicitation_callback=asking(ACCEPTED, []), **more)


async def answered(client, name, arguments, state, responses):
    return await client.session.call_tool(
        name, arguments, input_responses=responses, request_state=state, allow_input_required=True
    )


def opened(state):
    """What stands in a state for whoever has no key: the bytes behind its letters."""
    return base64.urlsafe_b64decode(state.partition(".")[2] + "==")


def test_an_approval_is_for_this_call_alone():
    """Not for other arguments, another tool or another server; and the state says nothing."""

    async def main():
        async with elicits(server(shop.tools, "shop", key=KEY)) as client:
            written = {"amount": 500, "to": "nobody-in-particular"}
            state, responses = await asked_by_hand(client, "pay", written)
            assert "nobody-in-particular" not in state
            assert b"nobody-in-particular" not in opened(state)
            state, responses = await asked_by_hand(client, "pay", {"amount": 500})
            for name, arguments, given in (
                ("pay", {"amount": 501}, state),
                ("log_in", {"password": "x"}, state),
                ("pay", {"amount": 500}, state[:-2] + ("AA" if state[-2:] != "AA" else "BB")),
                ("pay", {"amount": 500}, "nonsense"),
            ):
                with pytest.raises(MCPError, match="requestState"):
                    await answered(client, name, arguments, given, responses)
            assert not shop.PAID
            right = await answered(client, "pay", {"amount": 500}, state, responses)
        async with elicits(server(shop.tools, "another", key=KEY)) as client:
            with pytest.raises(MCPError, match="requestState"):
                await answered(client, "pay", {"amount": 500}, state, responses)
        async with elicits(
            server(shop.tools, "shop", key=KEY)
        ) as client:  # another process with the same key
            again = await answered(client, "pay", {"amount": 500}, state, responses)
        return right, again

    right, again = run(main())
    assert text(right) == text(again) == "paid 500 to bob"


def test_with_a_ledger_an_approval_is_used_once_and_secrets_are_asked_of(tmp_path):
    async def main():
        with Ledger(tmp_path / "calls.db") as ledger:
            async with elicits(server(shop.tools, "shop", key=KEY, ledger=ledger)) as client:
                state, responses = await asked_by_hand(client, "pay", {"amount": 500})
                first = await answered(client, "pay", {"amount": 500}, state, responses)
                second = await answered(client, "pay", {"amount": 500}, state, responses)
                other = await client.call_tool("pay", {"amount": 500})
                secret = await client.call_tool("log_in", {"password": "hunter2"})
        async with elicits(server(shop.tools, "shop", key=KEY)) as client:
            without = await client.call_tool("log_in", {"password": "hunter2"})
        return first, second, other, secret, without

    first, second, other, secret, without = run(main())
    assert text(first) == text(other) == "paid 500 to bob"
    assert second.is_error
    assert "its approval cannot be used: the token was used" in text(second)
    assert len(shop.PAID) == 2
    assert text(secret) == "in with 7 characters"
    assert "takes secrets" in text(without)


def test_a_tool_that_changed_meanwhile_is_not_run():
    async def main():
        tools = Registry(shop.ALL)
        async with elicits(server(tools, "shop", key=KEY)) as client:
            state, responses = await asked_by_hand(client, "pay", {"amount": 500})

        @tool(name="pay", approve=True)
        def pay_somebody_else(amount: int, to: str = "mallory") -> str:
            """Pay."""
            raise AssertionError

        async with elicits(server(Registry([pay_somebody_else]), "shop", key=KEY)) as client:
            return await answered(client, "pay", {"amount": 500}, state, responses)

    result = run(main())
    assert result.is_error
    assert "pay cannot run as it was shown" in text(result)


def test_a_tool_that_has_gone_meanwhile_is_unknown():
    async def main():
        async with elicits(server(Registry(shop.ALL), "shop", key=KEY)) as client:
            state, responses = await asked_by_hand(client, "pay", {"amount": 500})
        async with elicits(server(Registry([shop.shout]), "shop", key=KEY)) as client:
            return await answered(client, "pay", {"amount": 500}, state, responses)

    result = run(main())
    assert result.is_error
    assert 'no tool named "pay"' in text(result)


def test_what_inject_raises_is_for_the_log(caplog):
    def inject(context):
        raise LookupError("secret place")

    async def main():
        async with connected(
            server(Registry([shop.whoami]), "shop", inject=inject), "2026-07-28"
        ) as client:
            return await client.call_tool("whoami", {})

    result = run(main())
    assert result.is_error
    assert "secret place" not in text(result)
    assert "secret place" in caplog.text


# --- what the application gives -----------------------------------------------------------------------------------


def test_values_are_injected_for_each_request():
    tools = Registry([shop.whoami])

    async def main():
        said = []
        for inject in ({"user": "ann"}, lambda context: {"user": context.method}):
            async with connected(server(tools, "shop", inject=inject), "2026-07-28") as client:
                said.append(text(await client.call_tool("whoami", {})))
        async with connected(server(tools, "shop"), "2026-07-28") as client:
            said.append(text(await client.call_tool("whoami", {})))
        return said

    first, second, third = run(main())
    assert (first, second) == ("ann", "tools/call")
    assert "reference" in third
    assert "user" not in third


@EVERY_REVISION
def test_hooks_are_around_calls_whether_they_are_async_or_not(revision):
    said = []
    plain, awaited = Registry([shop.shout, shop.count]), Registry([shop.shout, shop.count])
    plain.around(lambda context, proceed: (said.append(context.tool.name), proceed())[1])

    @awaited.around
    async def hook(context, proceed):
        said.append(context.tool.name)
        return await proceed()

    async def main():
        for tools in (plain, awaited):
            async with connected(server(tools, "shop"), revision) as client:
                assert text(await client.call_tool("shout", {"text": "a"})) == "A"
                assert text(await client.call_tool("count", {"to": 2})) == "[0,1]"

    run(main())
    assert said == ["shout", "count"] * 2


@EVERY_REVISION
def test_clients_hear_of_changes(revision):
    """From whatever thread; and list what is there now."""

    async def main():
        tools = Registry([shop.shout])
        heard = asyncio.Event()

        async def message(one):
            if isinstance(one, types.ToolListChangedNotification):
                heard.set()

        async with connected(server(tools, "shop"), revision, message_handler=message) as client:
            assert client.server_capabilities.tools.list_changed
            before = [tool.name for tool in (await client.list_tools()).tools]
            async with contextlib.AsyncExitStack() as stack:
                if revision == "2026-07-28":
                    changes = await stack.enter_async_context(
                        client.listen(tools_list_changed=True)
                    )
                threading.Thread(target=tools.add, args=(shop.weather,)).start()
                if revision == "2026-07-28":
                    await anext(aiter(changes))
                else:
                    await asyncio.wait_for(heard.wait(), 5)
            return before, [tool.name for tool in (await client.list_tools()).tools]

    assert run(main()) == (["shout"], ["shout", "weather"])


@EVERY_REVISION
def test_null_is_a_result_like_any(revision):
    """What may be null has one shape in 2026-07-28, whether it is null or not."""

    @tool
    def done() -> None:
        """Do it."""

    @tool
    def find(n: int) -> dict[str, int] | None:
        """Find it."""
        return {"n": n} if n else None

    @tool
    def some(n: int) -> list[int] | None:
        """Find some."""
        return [n] if n else None

    async def main():
        async with connected(server(Registry([done, find, some]), "s"), revision) as client:
            listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            calls = [
                ("done", {}),
                ("find", {"n": 0}),
                ("find", {"n": 1}),
                ("some", {"n": 0}),
                ("some", {"n": 1}),
            ]
            found = [
                (name, (await client.call_tool(name, given)).structured_content)
                for name, given in calls
            ]
        for name, content in found:
            Draft202012Validator(listed[name]).validate(content)
        there = {"result": {"n": 1}} if revision == "2026-07-28" else {"n": 1}
        assert [content for _, content in found] == [
            {"result": None},
            {"result": None},
            there,
            {"result": None},
            {"result": [1]},
        ]

    run(main())


def test_a_state_of_the_new_revision_is_none_in_an_old_one():
    """The call is refused, and has not run."""

    async def main():
        served = server(shop.tools, "s", key=KEY)
        async with elicits(served) as client:
            state, responses = await asked_by_hand(client, "pay", {"amount": 500})
        async with connected(served, "2025-11-25") as client:
            result = await answered(client, "pay", {"amount": 500}, state, responses)
        assert "this call needs approval" in text(result)
        assert not shop.PAID

    run(main())


def test_a_hook_that_takes_calls_from_the_loop_is_said(caplog):
    tools = Registry([shop.tools["shout"]])
    tools.around(lambda context, proceed: proceed())

    async def main():
        async with Client(server(tools, "s")) as client:
            for _ in range(3):
                await client.call_tool("shout", {"text": "a"})

    run(main())
    assert (
        len([message for message in caplog.messages if "make the hook async def" in message]) == 1
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([], "s"), "takes a Registry, not list"),
        ((shop.tools, "s", {"expires": 5}), "expires= must be a timedelta"),
        ((shop.tools, "s", {"inject": 5}), "inject= must be a mapping"),
        ((shop.tools, "s", {"inject": asyncio.sleep}), "inject= must be a mapping"),
    ],
)
def test_what_a_server_cannot_be_made_of_is_refused(given, said):
    tools, name, *options = given
    with pytest.raises(UsageError, match=said):
        server(tools, name, **(options[0] if options else {}))


def test_what_is_no_key_and_no_ledger_is_refused():
    with pytest.raises(UsageError, match="32 bytes"):
        server(shop.tools, "shop", key="sixteen bytes...")
    with pytest.raises(UsageError, match=r"takes a toolshape\.ledger\.Ledger"):
        server(shop.tools, "shop", ledger="calls.db")
    assert isinstance(server(shop.tools, "shop", instructions="Buy."), Server)


# --- transports ---------------------------------------------------------------------------------------------------


HERE = str(Path(__file__).parent)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(toolshape.__file__).parents[1]), HERE]),
}
COMMAND = StdioServerParameters(
    command=sys.executable, args=["-m", "toolshape", "mcp", "shop:tools"], env=ENVIRONMENT, cwd=HERE
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_standard_streams(mode):
    """Started by one line; what tools print stands in nobody's way."""

    async def main():
        async with Client(COMMAND, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, [
                text(await client.call_tool("shout", {"text": str(n)})) for n in range(20)
            ]

    names, said = run(main())
    assert names == [item.name for item in shop.ALL]
    assert said == [str(n) for n in range(20)]


TALKING = """
import atexit, logging, os, subprocess, sys, threading, time, warnings

CHILD = [sys.executable, "-c", "import sys; print('child', sys.stdin.read())"]
logging.basicConfig(stream=sys.stdout, level="DEBUG")
print("loaded", repr(sys.stdin.read()))
os.write(1, b"by descriptor")
subprocess.run(CHILD)
atexit.register(print, "the end")

def talk():
    while True:
        print("still here", flush=True)
        time.sleep(0.001)

threading.Thread(target=talk, daemon=True).start()

from toolshape import Registry, tool

@tool
def say() -> str:
    "Says what it reads."
    logging.warning("logged")
    warnings.warn("warned")
    subprocess.run(CHILD)
    return f"read {sys.stdin.read()!r}"

tools = Registry([say])
"""


def test_standard_output_holds_messages_alone(tmp_path):
    """Whatever a module prints, loaded or running or at the end; and nobody but the server reads standard input."""
    (tmp_path / "talking.py").write_text(TALKING, encoding="utf-8")
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "say", "arguments": {}},
        },
    ]
    command = [sys.executable, "-m", "toolshape", "mcp", "talking:tools"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        errors = []
        reading = threading.Thread(target=lambda: errors.append(process.stderr.read().decode()))
        reading.start()
        process.stdin.write("".join(f"{json.dumps(item)}\n" for item in asked).encode())
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest = process.stdout.read()
        reading.join()
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["content"][0]["text"] == "read ''"
    assert rest == b""
    for said in ("loaded ''", "by descriptor", "still here", "logged", "warned", "the end"):
        assert said in errors[0]


def test_a_server_does_not_start_without_an_injected_value():
    """Each call of the tool would fail, which a client's user would find out."""
    for given, said in (
        (
            ["shop:whoami"],
            "whoami needs inject={'user': ...}; pass a value with --inject NAME=MODULE:FACTORY",
        ),
        (
            ["shop:tools", "--inject", "user=shop:tools"],
            "--inject user has no effect: these tools take no injected values",
        ),
    ):
        command = [sys.executable, "-m", "toolshape", "mcp", *given]
        done = subprocess.run(
            command,
            env=ENVIRONMENT,
            cwd=HERE,
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (2, f"Error: {said}\n")


@contextlib.contextmanager
def over_http(made):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    running = uvicorn.Server(
        uvicorn.Config(made.streamable_http_app(), port=port, log_level="error", ws="none")
    )
    thread = threading.Thread(target=running.run)
    thread.start()
    until = time.monotonic() + 20
    while not running.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http(mode):
    said = []

    async def heard(progress, total, message):
        said.append(progress)

    async def main(url):
        asked = asking(ACCEPTED, [])
        async with Client(url, mode=mode, elicitation_callback=asked) as client:
            assert len((await client.list_tools()).tools) == len(shop.ALL)
            await client.call_tool("count", {"to": 3}, progress_callback=heard)
            return await client.call_tool("pay", {"amount": 500})

    with over_http(server(shop.tools, "shop")) as url:
        result = run(main(url))
    assert said == [0, 1, 2]
    assert result.is_error is (mode == "legacy")


def test_fastmcp_is_a_client_of_it():
    async def main(url):
        async with fastmcp.Client(url) as client:
            listed = await client.list_tools()
            right = await client.call_tool("weather", {"city": "x", "days": 2})
            wrong = await client.call_tool("fail", {"how": "told"}, raise_on_error=False)
            return listed, right, wrong

    with over_http(server(shop.tools, "shop")) as url:
        listed, right, wrong = run(main(url))
    assert [item.name for item in listed] == [item.name for item in shop.ALL]
    assert right.structured_content == {"degrees": 2, "sky": "clear"}
    assert wrong.is_error


def test_ten_thousand_calls_through_one_connection():
    """None is lost, none is run twice, and each gets its own answer."""
    ran = []

    @tool
    async def echo(n: int) -> int:
        """Echo."""
        ran.append(n)
        await asyncio.sleep(0)
        return n

    async def main():
        async with connected(server(Registry([echo]), "shop"), "2025-11-25") as client:
            found = []
            for begin in range(0, 10_000, 500):
                calls = [client.call_tool("echo", {"n": n}) for n in range(begin, begin + 500)]
                found += [
                    item.structured_content["result"] for item in await asyncio.gather(*calls)
                ]
            return found

    assert run(main()) == list(range(10_000))
    assert sorted(ran) == list(range(10_000))


def test_a_server_that_nobody_holds_is_not_held_by_its_tools():
    tools = Registry([shop.shout])
    for _ in range(3):
        server(tools, "shop")
    gc.collect()
    tools.add(shop.weather)
    assert not store_of(tools).listeners


def test_messages_fit_the_types_of_the_old_revision():
    [message] = (
        shop.tools.bind("mcp:2025-11-25")
        .dispatch({"method": "tools/call", "id": 1, "params": {"name": "picture", "arguments": {}}})
        .messages
    )
    assert ResultUntil2025.model_validate(json.loads(json.dumps(message)))


def test_the_transport_in_memory_is_served_too():
    async def main():
        async with Client(InMemoryTransport(server(shop.tools, "shop")), mode="legacy") as client:
            return text(await client.call_tool("shout", {"text": "a"}))

    assert run(main()) == "A"


@EVERY_REVISION
@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_client_sees_and_calls_goes_by_who_it_is(revision, is_async):
    """A name outside of its tools is unknown, and no message names one of the others."""
    guest = shop.tools.subset(["weather", "shout"])

    def tools_of(context):
        return shop.tools if context.session.client_params.client_info.name == "admin" else guest

    async def tools_of_async(context):
        await asyncio.sleep(0)
        return tools_of(context)

    async def seen_by(name):
        served = server(tools_of_async if is_async else tools_of, "shop", version="1")
        info = types.Implementation(name=name, version="1")
        async with connected(served, revision, client_info=info) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            called = await client.call_tool("count", {"to": 2})
            return listed, called, await client.call_tool("weather", {"city": "x"})

    listed, called, allowed = run(seen_by("admin"))
    assert listed == [item.name for item in shop.ALL]
    assert not called.is_error
    listed, called, allowed = run(seen_by("guest"))
    assert listed == ["weather", "shout"]
    assert called.is_error
    assert 'no tool named "count"' in text(called)
    assert not any(
        item.name in text(called).replace('"count"', "")
        for item in shop.ALL
        if item.name not in listed
    )
    assert not allowed.is_error


@EVERY_REVISION
def test_a_function_of_the_tools_that_fails_is_hidden(revision, caplog):
    """The client learns a reference, the log what happened."""

    def fails(context):
        raise RuntimeError("secret details")

    async def main(tools):
        async with connected(server(tools, "shop", version="1"), revision) as client:
            with pytest.raises(MCPError) as caught:
                await client.list_tools()
            return str(caught.value), text(await client.call_tool("weather", {"city": "x"}))

    for tools in (fails, lambda context: [shop.ALL[0]]):
        told = run(main(tools))
        assert all("reference" in said and "secret" not in said for said in told), told
    assert "secret details" in caplog.text
    assert "must return a Registry, not list" in caplog.text
    with pytest.raises(UsageError, match="server takes a Registry"):
        server(shop.ALL[0], "shop")
