"""What somebody meets on the first day: the traps that were found by trying it as a new user, each mended by its cause."""

import asyncio
import importlib.util
import json
import pickle
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, SecretStr, WithJsonSchema

import toolshape
from toolshape import Conversation, DefinitionError, Output, Registry, ResponseError, Usage, tool
from toolshape._bound.targets import TargetError, load
from toolshape.ledger import Ledger
from toolshape.testing import Fake

SHOP = '''
from toolshape import Registry, tool

@tool
def stock(sku: str) -> str:
    """Look up."""
    return sku

tools = Registry([stock])
'''


def chat(*calls: tuple[str, Any], text: str | None = None, **more: Any) -> dict[str, Any]:
    entries = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": entries} if calls else {})}
    finish = "tool_calls" if calls else "stop"
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message}], **more}


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{days} sunny days in {city}"


@tool(effects=["destructive"], approve=True)
def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount} of {order_id}"


@tool
def log_in(user: str, password: SecretStr) -> str:
    """Log in."""
    return f"hello {user}"


def imported(place: Path, name: str, source: str) -> Any:
    file = place / f"{name}.py"
    file.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TWICE = """
from toolshape import Registry, tool
registry = Registry()

@registry.tool
def stock(sku: str) -> str:
    '''Look up.'''
    return sku

@registry.tool
def stock(sku: str, where: str) -> str:
    '''Look up elsewhere.'''
    return sku
"""


def test_two_functions_of_one_name_in_a_script(tmp_path):
    """The author is told; nothing is replaced without a word."""
    with pytest.raises(DefinitionError, match="'stock' is already defined"):
        imported(tmp_path, "twice", TWICE)


def test_a_reload_replaces(tmp_path):
    """The same place, or a place that has moved, is the same function."""
    source = TWICE[: TWICE.index("@registry.tool\ndef stock(sku: str, where")]
    module = imported(tmp_path, "once", source)
    old = module.registry["stock"]
    (tmp_path / "once.py").write_text("# a line more\n" + source.replace("return sku", "return 1"))
    code = compile((tmp_path / "once.py").read_text(), str(tmp_path / "once.py"), "exec")
    scope = {"__name__": "once", "registry": module.registry}
    exec(code, scope)
    again = Registry([old])
    again.add(scope["stock"])
    assert again["stock"] is not old


def test_strictness_is_asked_the_same_way():
    assert Output(int).bind("openai").is_strict() is True
    assert Registry([weather]).bind("openai", strict=False).is_strict("weather") is False


@pytest.mark.parametrize("is_async", [False, True])
def test_a_broken_stream_of_an_answer_ends(is_async):
    """The answer says that it was cut off, and by what; before anything has come, the error is the caller's."""
    chunk = {"choices": [{"index": 0, "delta": {"content": '{"value": 1'}, "finish_reason": None}]}

    def broken(*chunks: Any):
        yield from chunks
        raise ConnectionError("gone")

    async def broken_async(*chunks: Any):
        for item in broken(*chunks):
            yield item

    def over(collector: Any, *chunks: Any) -> list[Any]:
        if not is_async:
            return list(collector.over(broken(*chunks)))

        async def collect() -> list[Any]:
            return [state async for state in collector.aover(broken_async(*chunks))]

        return asyncio.run(collect())

    collector = Output(int).bind("openai").collector()
    assert over(collector, chunk)
    error = collector.close().error
    assert error.code == "truncated_answer"
    assert isinstance(error.__cause__, ConnectionError)
    with pytest.raises(ConnectionError):
        over(Output(int).bind("openai").collector())


def test_a_collector_has_all_and_what_is_new():
    collector = Registry([weather]).bind("openai").collector()
    for piece in ("Hel", "lo"):
        collector.feed({"choices": [{"index": 0, "delta": {"content": piece}}]})
    assert (collector.text, collector.new_text) == ("Hello", "lo")


def test_a_name_that_a_module_only_imports_is_no_target(tmp_path):
    (tmp_path / "first_shop.py").write_text(SHOP)
    with pytest.raises(TargetError, match=r"has no 'tool' \(did you mean \"tools\"\?\)"):
        load(f"{tmp_path / 'first_shop.py'}:tool")


@pytest.mark.parametrize("kind", [{}, {"a": 1}, [1], 5])
def test_a_value_is_no_type_of_an_answer(kind):
    with pytest.raises(DefinitionError, match="must be a type, such as a pydantic model"):
        Output(kind)


def test_a_ledger_says_at_once_that_it_cannot_be_opened(tmp_path):
    from toolshape import UsageError

    with pytest.raises(UsageError, match="cannot be opened: unable to open database file"):
        Ledger(tmp_path / "nowhere" / "calls.db")
    (tmp_path / "text.db").write_text(
        "no database, but a text that is long enough to be read\n" * 9
    )
    with pytest.raises(UsageError, match="file is not a database"):
        Ledger(tmp_path / "text.db")


def test_a_url_as_hosts_write_it():
    from toolshape.ledger import url_of

    assert url_of("postgres://u@h/d").get_backend_name() == "postgresql"
    assert url_of("postgresql+asyncpg://u@h/d").drivername == "postgresql+asyncpg"


def test_a_text_is_no_response():
    with pytest.raises(ResponseError, match="pass the whole response"):
        Registry([weather]).bind("openai").dispatch("hello")


def test_what_is_too_much_is_said_with_its_source():
    def numbered(at: int) -> Any:
        return tool(lambda x: x, name=f"f{at}", description="F.")

    tools = Registry([numbered(at) for at in range(200)])
    with pytest.raises(toolshape.ExportError) as raised:
        tools.bind("openai").request()
    assert raised.value.problems[0].rule == "most_tools"
    assert raised.value.problems[0].evidence


@pytest.mark.parametrize(
    ("provider", "wrong", "right"),
    [
        ("anthropic", "/v1/v1/messages", "/v1/messages"),
        ("anthropic", "/messages", "/v1/messages"),
        ("openai", "/chat/completions", "/v1/chat/completions"),
        ("openai", "/v1/chat/completions/chat/completions", "/v1/chat/completions"),
        ("openai-responses", "/v2/responses", "/proxy/v1/responses"),
        ("gemini", "/v1beta/v1beta/models/g:generateContent", "/v1/models/g:generateContent"),
        ("cohere", "/v2/v2/chat", "/v2/chat"),
        ("ollama", "/api/api/chat", "/api/chat"),
    ],
)
def test_a_wrong_path_is_not_found(provider, wrong, right):
    """A fake answers a wrong ``base_url`` as the provider does."""

    def status(path: str) -> int:
        request = urllib.request.Request(fake.url + path, b"{}", method="POST")
        try:
            with urllib.request.urlopen(request) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    with Fake(provider, Registry([weather])) as fake:
        assert status(wrong) == 404
        assert status(right) != 404


@pytest.mark.parametrize("name", sorted(toolshape._SUBMODULES))
def test_each_public_submodule_is_an_attribute(name):
    """As the pages write it, and without having been imported."""
    code = f"import toolshape; assert toolshape.{name}.__name__ == 'toolshape.{name}'"
    if name in ("mcp", "openapi"):
        pytest.importorskip({"mcp": "mcp", "openapi": "httpx"}[name])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


# --- what people look at -----------------------------------------------------------------------------------------


def test_a_conversation_prints_as_a_transcript():
    """Each call with what was coerced and its answer, the waiting calls, and no secret."""
    conversation = Conversation(Registry([weather, refund, log_in]))
    conversation.user("How is it in Bonn?")
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    conversation.dispatch(
        chat(
            ("weather", {"city": "Bonn", "days": "2"}),
            ("log_in", {"user": "a", "password": "HUNTER2"}),
            ("nothing", {"password": "HUNTER2"}),
            usage=usage,
        ),
        provider="openai",
    )
    conversation.dispatch(chat(("refund", {"order_id": "1", "amount": 2})), provider="openai")
    printed = str(conversation)
    assert printed.splitlines()[:3] == [
        "user: How is it in Bonn?",
        "assistant (openai) calls: weather(city='Bonn', days='2')",
        "  coerced days by number_text: '2' -> 2",
    ]
    assert "log_in(user, password)" in printed
    assert "  weather -> 2 sunny days in Bonn" in printed
    assert printed.splitlines()[-1] == "waits for approval: refund(order_id='1', amount=2) (id c0)"
    for shown in (printed, conversation._repr_html_(), repr(conversation.pending)):
        assert "HUNTER2" not in shown
    assert "<script" not in Conversation()._repr_html_()
    assert conversation.messages[1].usage == Usage(input_tokens=7, output_tokens=3)
    restored = Conversation.from_json(conversation.to_json(), conversation.tools)
    assert restored.messages[1].usage == conversation.messages[1].usage
    assert "waits for approval: refund" in str(restored)


def test_results_and_their_calls_show_no_secret():
    bound = Registry([log_in, weather]).bind("openai")
    results = bound.dispatch(chat(("log_in", {"user": "a", "password": "HUNTER2"})))
    for shown in (str(results), repr(results), results._repr_html_(), repr(results[0].call)):
        assert "HUNTER2" not in shown
    assert str(bound.dispatch(chat(("weather", {"city": "Bonn"})))) == (
        "weather(city='Bonn') -> '1 sunny days in Bonn'"
    )


def test_a_registry_prints_as_a_table():
    printed = str(Registry([weather, refund]))
    assert printed.splitlines()[0].split() == ["tool", "parameters", "description", "effects"]
    assert "order_id, amount" in printed
    assert "<td>weather</td>" in Registry([weather])._repr_html_()
    assert str(Registry()) == "no tools"


def test_rich_prints_the_same():
    console = pytest.importorskip("rich.console").Console(width=100, file=None, record=True)
    with console.capture() as captured:
        console.print(Registry([weather]))
        console.print(
            Registry([weather]).bind("openai").dispatch(chat(("weather", {"city": "[b]"})))
        )
    assert "weather(city='[b]')" in captured.get()


class Hidden(BaseModel):
    key: Annotated[SecretStr, WithJsonSchema({"type": "string"})]


def test_a_secret_that_only_the_model_knows():
    """The schema may say nothing of it; the type does."""

    @tool
    def unlock(door: Hidden | None = None) -> str:
        """Unlock."""
        return "open"

    assert "writeOnly" not in json.dumps(unlock.input_schema)
    call = Registry([unlock]).bind("openai").plan(chat(("unlock", {"door": {"key": "HUNTER2"}})))
    assert "HUNTER2" not in str(call.results)


def test_no_printer_reads_arguments_itself():
    """``shown`` and ``show_arguments`` know what may be seen."""
    import ast

    printers = {"__str__", "__repr__", "_repr_html_", "__rich__"}
    found = []
    for path in Path(toolshape.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in printers:
                found += [
                    f"{path.name}:{inner.lineno}"
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Call)
                    and getattr(inner.func, "id", "") in ("shorten", "repr", "str")
                    and any(
                        isinstance(part, ast.Attribute) and part.attr.startswith("arguments")
                        for part in ast.walk(inner)
                    )
                ]
    assert not found


# --- what is counted ---------------------------------------------------------------------------------------------


STREAMED = [
    {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}},
]


def test_the_tokens_of_a_trace(tmp_path):
    """Of whole responses and of streams; a response that continues counts once."""
    from toolshape.trace import record_to
    from toolshape.trace._usage import recorded_usage

    trace = tmp_path / "calls.jsonl"
    tools = Registry([weather, refund])
    tools.observe(record_to(trace, keep="all"))
    bound = tools.bind("openai")
    bound.dispatch(chat(text="Hello.", usage={"prompt_tokens": 100, "completion_tokens": 5}))
    plan = bound.plan(
        chat(
            ("refund", {"order_id": "1", "amount": 2}),
            usage={"prompt_tokens": 10, "completion_tokens": 2},
        )
    )
    plan.run()
    plan.approve(plan.pending)
    plan.run()
    collector = bound.collector()
    list(collector.over(STREAMED))
    assert collector.plan().run().usage == Usage(7, 1)
    assert recorded_usage(trace) == (3, Usage(117, 8))


@pytest.mark.parametrize(
    ("provider", "body", "expected"),
    [
        (
            "anthropic",
            {"type": "message", "role": "assistant", "content": [], "usage": {
                "input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 7}},
            Usage(105, 7, 90),
        ),
        (
            "xai",
            chat(text="x", usage={
                "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94}, "prompt_tokens_details": {"cached_tokens": 6}}),
            Usage(32, 103, 6, 94),
        ),
        (
            "gemini",
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}}], "usageMetadata": {
                "promptTokenCount": 20, "candidatesTokenCount": 3, "thoughtsTokenCount": 40, "cachedContentTokenCount": 8}},
            Usage(20, 43, 8, 40),
        ),
        (
            "bedrock",
            {"output": {"message": {"role": "assistant", "content": [{"text": "x"}]}}, "stopReason": "end_turn",
             "usage": {"inputTokens": 4, "outputTokens": 2, "cacheReadInputTokens": 6}},
            Usage(10, 2, 6),
        ),
        ("ollama", {"message": {"role": "assistant", "content": "x"}, "done": True, "prompt_eval_count": 3, "eval_count": 2},
         Usage(3, 2)),
        ("openai", chat(text="x"), None),
    ],
)  # fmt: skip
def test_usage_is_one_record(provider, body, expected):
    """Input holds what was cached, output holds the reasoning, whatever the provider counts apart."""
    results = Registry([weather]).bind(provider).dispatch(body)
    assert results.usage == expected
    assert pickle.loads(pickle.dumps(results)).usage == expected
