"""Tools of free text: the model writes plain text where the provider takes it, and one argument elsewhere."""

import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import SecretStr, StringConstraints

from toolshape import (
    Conversation,
    DefinitionError,
    Grammar,
    Registry,
    Tool,
    tool,
)
from toolshape.ledger import Ledger
from toolshape.provider import available, get

KEY = b"k" * 32
LARK = Grammar("lark", 'start: "go " /[a-z]+/ (", " /[a-z]+/)*')


@tool(free_text=Grammar("regex", r"SELECT [a-z*]+ FROM [a-z]+"))
def sql(query: str) -> str:
    """Run a query.

    Args:
        query: One statement.
    """
    return f"ran {query}"


@tool(free_text=True)
def shell(command: str) -> str:
    """Run a command."""
    return command.upper()


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


TOOLS = Registry([sql, shell, add])


def chat_call(name: str, text: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "custom", "custom": {"name": name, "input": text}}


def chat(*calls: Any, finish: str = "tool_calls") -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def response(name: str, text: str, **more: Any) -> dict[str, Any]:
    item = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_1",
        "name": name,
        "input": text,
    }
    return {"object": "response", "status": "completed", "output": [item | more]}


# --- what is sent


def test_two_providers_take_plain_text() -> None:
    takers = {name for name in available() if get(name).request.free_text is not None}
    assert takers == {"openai", "openai-responses"}


def test_a_custom_tool_is_sent_in_the_form_of_each_api() -> None:
    sent = TOOLS.request("openai")["tools"][0]
    grammar = {"syntax": "regex", "definition": r"SELECT [a-z*]+ FROM [a-z]+"}
    description = "Run a query.\n\nquery: One statement."
    assert sent == {
        "type": "custom",
        "custom": {
            "name": "sql",
            "description": description,
            "format": {"type": "grammar", "grammar": grammar},
        },
    }
    flat = TOOLS.request("openai-responses")["tools"]
    format_of_sql = {"type": "grammar", **grammar}
    assert flat[0] == {
        "type": "custom",
        "name": "sql",
        "description": description,
        "format": format_of_sql,
    }
    assert flat[1] == {"type": "custom", "name": "shell", "description": "Run a command."}


def test_elsewhere_it_is_an_ordinary_tool_whose_description_holds_the_grammar() -> None:
    sent = TOOLS.request("anthropic")["tools"][0]
    described = sent["input_schema"]["properties"]["query"]["description"]
    assert described.startswith("One statement.")
    assert described.endswith(r"SELECT [a-z*]+ FROM [a-z]+")
    (row,) = [
        row
        for row in TOOLS.bind("anthropic").report()
        if row.tool == "sql" and row.rule == "grammar"
    ]
    assert (row.path, row.kind) == ("query", "moved")


def test_what_the_schema_says_of_the_text_is_reported() -> None:
    @tool(free_text=True)
    def run(code: Annotated[str, StringConstraints(max_length=5)]) -> str:
        """Run code."""
        return code

    bound = Registry([run]).bind("openai")
    assert [(row.path, row.rule, row.kind) for row in bound.report()] == [
        ("code", "maxLength", "dropped")
    ]
    assert bound.dispatch(chat(chat_call("run", "12345"))).messages[0]["content"] == "12345"
    assert "at most 5" in bound.dispatch(chat(chat_call("run", "123456"))).messages[0]["content"]


@pytest.mark.parametrize("choice", ["sql", ["sql", "add"]])
def test_a_choice_names_the_kind_of_each_tool(choice: Any) -> None:
    custom, function = (
        {"type": "custom", "custom": {"name": "sql"}},
        {"type": "function", "function": {"name": "add"}},
    )
    sent = TOOLS.request("openai", choice=choice)["tool_choice"]
    flat = TOOLS.request("openai-responses", choice=choice)["tool_choice"]
    if choice == "sql":
        assert (sent, flat) == (custom, {"type": "custom", "name": "sql"})
    else:
        assert sent["allowed_tools"]["tools"] == [custom, function]
        assert flat["tools"] == [
            {"type": "custom", "name": "sql"},
            {"type": "function", "name": "add"},
        ]


def test_strict_asks_for_nothing_where_there_is_no_schema() -> None:
    assert TOOLS.bind("openai", strict=True).request()["tools"][1]["type"] == "custom"


def test_a_deferred_tool_of_free_text_is_marked() -> None:
    bound = TOOLS.deferred(["shell"]).bind("openai-responses")
    sent = {entry.get("name"): entry for entry in bound.request()["tools"]}
    assert sent["shell"] == {
        "type": "custom",
        "name": "shell",
        "description": "Run a command.",
        "defer_loading": True,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free_text": "yes"}, "must be True, False, or a Grammar"),
        ({"free_text": Grammar("ebnf", "x")}, "must be True, False, or a Grammar"),  # type: ignore[arg-type]
        ({"free_text": Grammar("regex", "")}, "must be True, False, or a Grammar"),
        ({"free_text": Grammar("regex", "(")}, "cannot be read"),
        ({"free_text": Grammar("regex", "(?=x)")}, "cannot be read"),
        ({"free_text": Grammar("lark", "start: nothing")}, "unknown name"),
    ],
)
def test_a_wrong_grammar_is_an_error(options: Any, message: str) -> None:
    if options["free_text"] == Grammar("lark", "start: nothing"):
        pytest.importorskip("llguidance")

    def run(code: str) -> str:
        """Run code."""
        return code

    with pytest.raises(DefinitionError, match=message):
        _ = tool(run, **options).spec


def test_a_tool_of_free_text_has_one_string() -> None:
    def count(number: int) -> int:
        """Count."""
        return number

    def note(text: str, book: str = "main") -> str:
        """Write a note."""
        return text + book

    for function in (note, count):
        with pytest.raises(DefinitionError, match="exactly one argument for models, and it is a"):
            tool(function, free_text=True)  # type: ignore[operator]


# --- what is read


def test_plain_text_reaches_the_function_as_it_is() -> None:
    for text in (
        "SELECT a FROM b",
        "ls -l",
        '{"command": "x"}',
        "",
        "null",
        "true",
        '"',
        "é\u2028\n",
    ):
        results = TOOLS.dispatch(chat(chat_call("shell", text)), provider="openai")
        assert results[0].value == text.upper()
        assert results[0].call.arguments == {"command": text}
        assert results.turn[1] == {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": text.upper(),
        }
        assert not results[0].coercions
        flat = TOOLS.dispatch(response("shell", text))
        assert flat[0].value == text.upper()
        assert flat.turn[1] == {
            "type": "custom_tool_call_output",
            "call_id": "call_1",
            "output": text.upper(),
        }


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_text_that_the_grammar_refuses_is_answered(provider: str) -> None:
    bound = TOOLS.bind(provider)
    for text, is_fine in (
        ("SELECT a FROM b", True),
        ("SELECT a FROM b; DROP", False),
        ("DROP", False),
    ):
        if provider == "openai":
            body: Any = chat(chat_call("sql", text))
        elif provider == "openai-responses":
            body = response("sql", text)
        else:
            body = {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "sql", "input": {"query": text}}
                ],
                "stop_reason": "tool_use",
            }
        (result,) = bound.dispatch(body)
        assert (result.error is None) is is_fine
        if result.error is not None:
            (problem,) = result.error.problems
            assert (problem.path, problem.rule) == ("query", "grammar")
            assert "SELECT" in problem.expected


def test_a_lark_grammar_is_checked_by_its_engine() -> None:
    pytest.importorskip("llguidance")

    @tool(free_text=LARK)
    def walk(route: str) -> str:
        """Walk."""
        return route

    assert not walk.findings or "grammar_not_checked" not in {found.rule for found in walk.findings}
    for text, is_fine in (
        ("go home", True),
        ("go a, b", True),
        ("go ", False),
        ("go é", False),
        ("", False),
    ):
        (result,) = Registry([walk]).dispatch(chat(chat_call("walk", text)), provider="openai")
        assert (result.error is None) is is_fine, text


def test_a_secret_text_is_not_shown() -> None:
    @tool(free_text=Grammar("regex", "[0-9]+"))
    def enter(pin: SecretStr) -> str:
        """Enter a PIN."""
        return pin.get_secret_value()[::-1]

    registry = Registry([enter])
    assert registry.dispatch(chat(chat_call("enter", "123")), provider="openai")[0].value == "321"
    refused = registry.dispatch(chat(chat_call("enter", "hunter2")), provider="openai")
    assert "hunter2" not in refused[0].text + repr(refused[0]) + str(refused[0].error)


def test_a_call_in_the_other_form_is_read() -> None:
    ordinary = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "sql", "arguments": '{"query": "SELECT a FROM b"}'},
    }
    assert TOOLS.dispatch(chat(ordinary), provider="openai")[0].value == "ran SELECT a FROM b"
    (result,) = TOOLS.dispatch(chat(chat_call("add", '{"a": 1, "b": 2}')), provider="openai")
    assert result.value == 3
    assert [row.rule for row in result.coercions] == ["json_text"]
    (result,) = TOOLS.dispatch(chat(chat_call("add", "one and two")), provider="openai")
    assert result.error is not None
    assert result.error.code == "malformed_arguments"


def test_plain_text_is_never_a_field_of_a_tool_that_takes_any() -> None:
    @tool
    def anything(**values: str) -> str:
        """Take anything."""
        return json.dumps(values)

    schema = {"type": "object", "additionalProperties": True}
    both = Registry([anything, Tool.from_definition(schema, lambda **values: values, name="any")])
    for name in ("anything", "any"):
        (result,) = both.dispatch(chat(chat_call(name, "text")), provider="openai")
        assert result.error is not None, name


def test_text_that_was_cut_off_is_not_run() -> None:
    for finish in ("length", "content_filter"):
        (result,) = TOOLS.dispatch(
            chat(chat_call("shell", "rm -r /tmp"), finish=finish), provider="openai"
        )
        assert result.error is not None
        assert result.error.code == "truncated_arguments"
    cut = response("shell", "rm", status="incomplete") | {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    (result,) = TOOLS.dispatch(cut)
    assert result.error is not None
    assert result.error.code == "truncated_arguments"


def fragment(*calls: Any, finish: str | None = None) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": finish}]
    }


def test_a_stream_of_chat_completions_brings_plain_text() -> None:
    collector = TOOLS.bind("openai").collector()
    events = [
        fragment({"index": 0, **chat_call("shell", "")}),
        fragment({"index": 0, "custom": {"input": "ls "}}),
        fragment({"index": 0, "custom": {"input": "-l"}, "function": None}),
        fragment(
            {
                "index": 1,
                "id": "call_2",
                "type": "function",
                "custom": {},
                "function": {"name": "add", "arguments": ""},
            }
        ),
        fragment({"index": 1, "custom": {}, "function": {"arguments": '{"a": 1}'}}),
    ]
    shown = []
    for event in events:
        collector.feed(event)
        shown.append([dict(call.arguments) for call in collector.partial()])
    assert shown[1] == [{"command": "ls "}]
    collector.feed(fragment(finish="tool_calls"))
    results = collector.plan().run()
    assert [result.value for result in results] == ["LS -L", 2]
    assert results._assistant[0]["tool_calls"][0] == chat_call("shell", "ls -l")


# --- histories


def converse(provider: str, tools: Registry = TOOLS) -> Conversation:
    conversation = Conversation(tools)
    conversation.user("Go.")
    conversation.request(provider)
    return conversation


def test_a_history_holds_the_call_in_the_form_of_each_provider() -> None:
    conversation = converse("openai")
    conversation.dispatch(chat(chat_call("shell", "ls")))
    call, result = conversation.request("openai-responses")["input"][-2:]
    assert call == {"type": "custom_tool_call", "call_id": "call_1", "name": "shell", "input": "ls"}
    assert result == {"type": "custom_tool_call_output", "call_id": "call_1", "output": "LS"}
    use = conversation.request("anthropic")["messages"][1]["content"][0]
    assert (use["name"], use["input"]) == ("shell", {"command": "ls"})
    restored = Conversation.from_json(conversation.to_json(), TOOLS)
    assert restored.request("openai")["messages"] == conversation.request("openai")["messages"]
    assert restored.request("openai")["messages"][1]["tool_calls"] == [chat_call("shell", "ls")]
    assert pickle.loads(pickle.dumps(conversation.messages)) == conversation.messages


def test_a_tool_may_have_been_an_ordinary_one_a_turn_before() -> None:
    ordinary = Registry([tool(shell.function, name="shell")])
    conversation = converse("openai", ordinary)
    written = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "shell", "arguments": '{"command": "ls"}'},
    }
    conversation.dispatch(chat(written))
    now = Conversation.from_json(conversation.to_json(), TOOLS)
    assert now.request("openai")["messages"][1]["tool_calls"][0] in (
        written,
        chat_call("shell", "ls"),
    )
    assert now.request("openai-responses")["input"][-2]["input"] == "ls"
    later = converse("openai")
    later.dispatch(chat(chat_call("shell", "ls")))
    back = Conversation.from_json(later.to_json(), ordinary)
    sent = back.request("anthropic")["messages"][1]["content"][0]
    assert (sent["name"], sent["input"]) == ("shell", {"command": "ls"})


def test_calls_are_written_as_messages() -> None:
    bound = TOOLS.bind("openai-responses")
    pairs: list[Any] = [("shell", {"command": "ls"}), ("add", {"a": 1})]
    custom, function = bound.calls_as_messages(pairs)
    assert (custom["type"], custom["input"]) == ("custom_tool_call", "ls")
    assert (function["type"], json.loads(function["arguments"])["a"]) == ("function_call", 1)
    results = TOOLS.dispatch(chat(chat_call("shell", "ls")), provider="openai")
    assert bound.calls_as_messages(results.calls)[0]["input"] == "ls"
    assert bound.results_as_messages(results)[0]["type"] == "custom_tool_call_output"


def test_a_waiting_call_is_resumed_from_its_token() -> None:
    careful = Registry([tool(shell.function, name="shell", free_text=True, approve=True)])
    for provider, body in (
        ("openai", chat(chat_call("shell", "ls"))),
        ("openai-responses", response("shell", "ls")),
    ):
        plan = careful.plan(body, provider=provider)
        (waiting,) = plan.pending
        assert waiting.arguments == {"command": "ls"}
        token = plan.pause(KEY, audience="a", expires=timedelta(hours=1))
        (result,) = careful.resume(token, KEY, {"call_1": True}, audience="a")
        assert result.value == "LS"


def test_an_ordinary_tool_has_no_arguments_in_plain_text() -> None:
    """Neither in lenient nor in strict form, where an arrow maps the arguments."""
    for strict in (True, False):
        bound = TOOLS.bind("openai", strict=strict)
        (result,) = bound.dispatch(chat(chat_call("add", '{"a": 2, "b": null}')))
        assert result.value == 3
        (unread,) = bound.dispatch(chat(chat_call("add", "two")))
        assert unread.call.arguments is None


def test_a_custom_call_under_a_name_that_was_not_sent() -> None:
    made = Registry([tool(shell.function, name="my.shell", free_text=True)])
    results = made.dispatch(chat(chat_call("my.shell", "ls")), provider="openai")
    assert results[0].value == "LS"
    assert results._assistant[0]["tool_calls"] == [chat_call("my_shell", "ls")]
    assert [row.rule for row in results[0].coercions] == ["tool_name"]
    flat = made.dispatch(response("my.shell", "ls"))
    assert (flat._assistant[0]["name"], flat._assistant[0]["input"]) == ("my_shell", "ls")


def test_an_edit_and_a_ledger_take_plain_text(tmp_path: Path) -> None:
    careful = Registry([tool(shell.function, name="shell", free_text=True, approve=True)])
    plan = careful.plan(chat(chat_call("shell", "ls")), provider="openai")
    plan.edit("call_1", {"command": "pwd"})
    plan.approve("call_1")
    assert plan.run()[0].value == "PWD"
    with Ledger(f"sqlite:///{tmp_path}/calls.db") as ledger:
        for is_again in (False, True):
            (result,) = TOOLS.dispatch(
                chat(chat_call("shell", "ls")), provider="openai", ledger=ledger, scope="s"
            )
            assert (result.value, result.replayed) == ("LS", is_again)
