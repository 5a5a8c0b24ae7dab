"""A search for tools: what it finds, and how each provider loads what it found."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolshape import Conversation, ExportError, Namespace, Registry, UsageError, tool
from toolshape._bound.past_searches import load_found
from toolshape._bound.search import words_of
from toolshape._bound.targets import TargetError
from toolshape._cli.searching import _read_questions
from toolshape._families import get
from toolshape._families.names import available
from toolshape.ledger import Ledger
from toolshape.testing import Fake


@tool(deferred=True, name="forecast.weather")
def forecast(city: str) -> str:
    """Tells the weather of the coming days.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


@tool(deferred=True)
def send_mail(to: str) -> str:
    """Sends an e-mail to a person."""
    return to


@tool(deferred=Namespace("crm", "About customers."))
def list_orders(customer: str) -> str:
    """Lists the orders of a customer."""
    return customer


@tool
def now() -> str:
    """The time."""
    return "12:30"


TOOLS = Registry([forecast, send_mail, list_orders, now])
WITH_SEARCH = Registry([*TOOLS, TOOLS.search(k=2)])
ANTHROPIC_CALL = {
    "type": "message", "role": "assistant", "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "t1", "name": "tool_search", "input": {"query": "weather forecast"}}],
}  # fmt: skip


def searched(query: str, call_id: str = "call_1") -> dict[str, Any]:
    item = {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "arguments": {"query": query},
    }
    return {"object": "response", "status": "completed", "output": [item]}


def names(query: str, registry: Registry = TOOLS, **options: Any) -> list[str]:
    return [found.name for found in registry.search(**options)(query).tools]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("How will the weather be?", "forecast.weather"),
        ("mailing somebody", "send_mail"),
        ("which ORDER did this customer make", "list_orders"),
        ("sendMail", "send_mail"),
    ],
)
def test_words_find_tools_whatever_their_form(query: str, first: str) -> None:
    assert names(query)[0] == first


def test_the_best_comes_first_with_its_score_and_no_more_than_k() -> None:
    found = TOOLS.search(k=1)("orders of a customer by mail")
    assert [one.name for one in found.tools] == ["list_orders"]
    assert found.tools[0].score > 0
    assert "say so and call none" in found.note


def test_what_matches_nothing_is_told() -> None:
    found = TOOLS.search()("xylophone")
    assert found.tools == ()
    assert "say that there is none" in found.note


def test_a_tool_that_is_added_later_is_found_and_the_search_never_finds_itself() -> None:
    tools = Registry([now])
    search = tools.add(tools.search())
    assert names("tool search find", tools) == []
    tools.add(send_mail)
    assert [one.name for one in search("mail").tools] == ["send_mail"]


def test_choices_and_nested_parameters_are_read() -> None:
    tools = Registry()
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"unit": {"enum": ["furlong"]}}}},
    }
    tools.add_definitions([{"name": "one", "description": "One.", "parameters": schema}])
    tools.add_definitions(
        [{"name": "two", "description": "Two.", "parameters": {"type": "object"}}]
    )
    assert names("furlongs", tools) == ["one"]


def test_vectors_of_the_app_rank_instead_of_words() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float("mail" in text), float("time" in text.lower()), 0.1] for text in texts]

    assert names("electronic mail", embed=embed, k=1) == ["send_mail"]
    assert names("what time", embed=embed, k=1) == ["now"]
    with pytest.raises(UsageError, match="vectors"):
        names("x", embed=lambda texts: [[1.0]])


def test_a_search_is_not_pickled_and_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="in the other process"):
        pickle.dumps(WITH_SEARCH)


@pytest.mark.parametrize("k", [0, -1, True, "8"])
def test_k_is_a_number_of_tools(k: Any) -> None:
    with pytest.raises(UsageError, match="k="):
        TOOLS.search(k=k)


def test_words_are_split_folded_and_without_endings() -> None:
    assert words_of("getHTTPResponses of the_users2") == ["get", "http", "respons", "user", "2"]
    assert words_of("天気予報") == ["天気", "気予", "予報"]


def test_anthropic_gets_references_and_nothing_else_in_the_result() -> None:
    bound = WITH_SEARCH.bind("anthropic")
    sent = bound.request()["tools"]
    assert [entry["name"] for entry in sent if "defer_loading" not in entry] == [
        "now",
        "tool_search",
    ]
    [message] = bound.dispatch(ANTHROPIC_CALL).messages
    assert message["content"][0]["content"][0] == {
        "type": "tool_reference",
        "tool_name": "forecast_weather",
    }
    assert {block["type"] for block in message["content"][0]["content"]} == {"tool_reference"}


def test_anthropic_gets_a_text_if_nothing_was_found_and_never_an_empty_list() -> None:
    call = json.loads(json.dumps(ANTHROPIC_CALL).replace("weather forecast", "xylophone"))
    [message] = WITH_SEARCH.bind("anthropic").dispatch(call).messages
    assert "No tool matches" in message["content"][0]["content"]


def test_a_reference_to_a_tool_that_is_not_sent_is_left_out() -> None:
    bound = WITH_SEARCH.bind("anthropic").subset(exclude=["forecast.weather"])
    [message] = bound.dispatch(ANTHROPIC_CALL).messages
    assert {"type": "tool_reference", "tool_name": "forecast_weather"} not in list(
        message["content"][0]["content"]
    )


def test_responses_searches_by_the_clients_search_and_gets_whole_definitions() -> None:
    bound = WITH_SEARCH.bind("openai-responses")
    sent = bound.request()["tools"]
    [search] = [entry for entry in sent if entry["type"] == "tool_search"]
    assert search["execution"] == "client"
    assert search["description"]
    assert "query" in search["parameters"]["properties"]
    assert not [entry for entry in sent if entry.get("name") == "tool_search"]
    results = bound.dispatch(searched("customer orders"))
    assert (results.finish, results.waits_for_app, results.warnings) == ("tool_calls", (), ())
    [item] = results.messages
    assert (item["type"], item["call_id"], item["execution"]) == (
        "tool_search_output",
        "call_1",
        "client",
    )
    assert item["tools"][0] == next(entry for entry in sent if entry.get("name") == "crm")


def test_responses_streams_a_search_of_the_client() -> None:
    [item] = searched("mail")["output"]
    begun = {**item, "status": "in_progress", "arguments": {}}
    collector = WITH_SEARCH.bind("openai-responses").collector()
    events = [
        {
            "type": "response.created",
            "sequence_number": 0,
            "response": {"object": "response", "status": "in_progress", "output": []},
        },
        {
            "type": "response.output_item.added",
            "sequence_number": 1,
            "output_index": 0,
            "item": begun,
        },
        {
            "type": "response.output_item.done",
            "sequence_number": 2,
            "output_index": 0,
            "item": item,
        },
        {
            "type": "response.completed",
            "sequence_number": 3,
            "response": {"object": "response", "status": "completed", "output": [item]},
        },
    ]
    calls = [call for event in events for call in collector.feed(event)]
    assert [call.arguments for call in calls] == [{"query": "mail"}]
    assert collector.plan().run().messages[0]["type"] == "tool_search_output"


def test_without_a_search_here_the_model_still_waits_for_the_app() -> None:
    results = TOOLS.bind("openai-responses").dispatch(searched("mail"))
    assert list(results) == []
    assert [item.kind for item in results.waits_for_app] == ["tool_search_call"]


def test_others_get_a_text_and_send_their_tools_as_always() -> None:
    bound = WITH_SEARCH.bind("openai")
    function = {"name": "tool_search", "arguments": '{"query": "mail"}'}
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    [answer] = bound.dispatch(
        {"choices": [{"finish_reason": "tool_calls", "message": message}]}
    ).messages
    found = json.loads(answer["content"])
    assert found["tools"][0]["name"] == "send_mail"
    assert "say so" in found["note"]


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_a_find_leaves_the_request_as_it_was_byte_by_byte(provider: str) -> None:
    bound = WITH_SEARCH.bind(provider)
    before = json.dumps(bound.request())
    bound.dispatch(ANTHROPIC_CALL if provider == "anthropic" else searched("mail"))
    assert json.dumps(bound.request()) == before


def test_more_than_128_tools_are_sent_to_responses() -> None:
    """Chat Completions refuses them, Responses does not."""
    many = Registry([tool(name=f"t{number}", deferred=True)(lambda: "x") for number in range(184)])
    assert len(Registry([*many, many.search()]).bind("openai-responses").request()["tools"]) == 185


def test_the_command_finds_and_measures(tmp_path: Path) -> None:
    from toolshape._cli.cli import main

    (tmp_path / "found_here.py").write_text(
        "from toolshape import Registry, tool\n"
        "@tool\ndef send_mail(to: str) -> str:\n    'Sends an e-mail.'\n    return to\n"
        "@tool\ndef weather(city: str) -> str:\n    'Tells the weather.'\n    return city\n"
        "TOOLS = Registry([send_mail, weather])\n"
    )
    gold = tmp_path / "questions.jsonl"
    questions = [
        {"query": "mail somebody", "tools": ["send_mail"]},
        {"query": "rain or shine, the weather", "tools": ["weather", "no_such_tool"]},
        {"query": "xylophone", "tools": ["weather"]},
    ]
    gold.write_text("\n".join(map(json.dumps, questions)))
    target = f"{tmp_path / 'found_here.py'}:TOOLS"
    runner = CliRunner()
    found = runner.invoke(main, ["search", target, "an e-mail", "--json"])
    assert json.loads(found.output)[0]["name"] == "send_mail"
    measured = runner.invoke(main, ["search", target, "--gold", str(gold)])
    assert measured.exit_code == 0, measured.output
    assert "recall at 1: 66.7%" in measured.output
    assert "no_such_tool" in measured.output
    for words in (["search", target], ["search", target, "x", "--gold", str(gold)]):
        assert runner.invoke(main, words).exit_code == 2


@pytest.mark.parametrize("first", ["anthropic", "openai-responses", "openai"])
@pytest.mark.parametrize("is_restored", [False, True])
def test_a_conversation_loads_what_was_found_at_both_providers(
    first: str, is_restored: bool
) -> None:
    """Whoever was asked first: the next request of each provider loads the tool again."""
    chat = Conversation(WITH_SEARCH)
    chat.user("Will it rain?")
    function = {"name": "tool_search", "arguments": '{"query": "weather forecast"}'}
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    responses: dict[str, Any] = {
        "anthropic": ANTHROPIC_CALL,
        "openai-responses": searched("weather forecast"),
        "openai": {"choices": [{"finish_reason": "tool_calls", "message": message}]},
    }
    chat.request(first)
    chat.dispatch(responses[first])
    if is_restored:
        chat = Conversation.from_json(chat.to_json(), WITH_SEARCH)
    block = chat.request("anthropic")["messages"][-1]["content"][0]
    assert block["content"][0] == {"type": "tool_reference", "tool_name": "forecast_weather"}
    call, answer = chat.request("openai-responses")["input"][-2:]
    assert (call["type"], call["arguments"]) == ("tool_search_call", {"query": "weather forecast"})
    assert (answer["type"], answer["call_id"]) == ("tool_search_output", call["call_id"])
    assert answer["tools"][0]["name"] == "forecast_weather"
    assert "forecast.weather" in chat.request("openai")["messages"][-1]["content"]
    assert chat.request("anthropic")["tools"] == WITH_SEARCH.export("anthropic")


def test_a_conversation_names_no_tool_that_is_gone() -> None:
    chat = Conversation(WITH_SEARCH)
    chat.user("Will it rain?")
    chat.request("anthropic")
    chat.dispatch(ANTHROPIC_CALL)
    fewer = WITH_SEARCH.subset(exclude=["forecast.weather"])
    chat = Conversation.from_json(chat.to_json(), fewer)
    content = chat.request("anthropic")["messages"][-1]["content"][0]["content"]
    assert "tool_reference" not in str(content) or "forecast_weather" not in str(content)


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_a_find_from_a_ledger_is_loaded_as_the_first_time(provider: str, tmp_path: Path) -> None:
    from toolshape.ledger import Ledger

    response = ANTHROPIC_CALL if provider == "anthropic" else searched("weather forecast")
    bound = WITH_SEARCH.bind(provider)
    with Ledger(tmp_path / "calls.db") as ledger:
        first, again = (bound.dispatch(response, ledger=ledger, scope="s").messages for _ in "12")
    assert first == again
    assert "forecast_weather" in str(first)


def test_a_call_that_another_provider_wrote_gets_its_namespace_at_responses() -> None:
    chat = Conversation(WITH_SEARCH)
    chat.user("Which orders?")
    chat.request("anthropic")
    content = [
        {"type": "tool_use", "id": "t1", "name": "list_orders", "input": {"customer": "A"}},
        {"type": "tool_use", "id": "t2", "name": "send_mail", "input": {"to": "A"}},
        {"type": "tool_use", "id": "t3", "name": "now", "input": {}},
    ]
    chat.dispatch({**ANTHROPIC_CALL, "content": content})
    items = chat.request("openai-responses")["input"]
    called = {
        item["name"]: item.get("namespace") for item in items if item.get("type") == "function_call"
    }
    assert called == {"list_orders": "crm", "send_mail": "send_mail", "now": None}


def test_a_search_of_the_client_cannot_be_chosen_at_responses() -> None:
    for choice in ("tool_search", ["tool_search", "now"]):
        with pytest.raises(ExportError, match="cannot be chosen"):
            WITH_SEARCH.request("openai-responses", choice=choice)
    assert (
        WITH_SEARCH.request("anthropic", choice="tool_search")["tool_choice"]["name"]
        == "tool_search"
    )


def test_two_finds_of_one_group_are_one_group() -> None:
    @tool(deferred=Namespace("crm", "About customers."))
    def find_customer(name: str) -> str:
        """Finds a customer."""
        return name

    tools = Registry([list_orders, find_customer])
    bound = Registry([*tools, tools.search()]).bind("openai-responses")
    [item] = bound.dispatch(searched("customer orders")).messages
    [group] = item["tools"]
    assert sorted(one["name"] for one in group["tools"]) == ["find_customer", "list_orders"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_vectors_are_finite(number: float) -> None:
    with pytest.raises(UsageError, match="finite"):
        names("mail", embed=lambda texts: [[number] for _ in texts])


def test_an_async_function_of_vectors_is_refused() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    with pytest.raises(UsageError, match="async"):
        names("mail", embed=embed)


def test_words_of_choices_between_models_are_read() -> None:
    tools = Registry()
    schema = {
        "type": "object",
        "properties": {
            "a": {
                "anyOf": [
                    {"type": "object", "properties": {"giraffe": {"type": "string"}}},
                    {"type": "null"},
                ]
            }
        },
    }
    tools.add_definitions([{"name": "one", "description": "One.", "parameters": schema}])
    assert names("giraffes", tools) == ["one"]


# --- what a day of attacks found -----------------------------------------------------------------

MAIL = {
    "type": "message", "role": "assistant", "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "t1", "name": "tool_search", "input": {"query": "mail"}}],
}  # fmt: skip


def texts_of(bound: Any, query: str) -> str:
    """What a provider of texts is told."""
    call = {"name": "tool_search", "arguments": json.dumps({"query": query})}
    message = {"tool_calls": [{"id": "c", "type": "function", "function": call}]}
    body = {"choices": [{"finish_reason": "tool_calls", "message": message}]}
    return str(bound.dispatch(body).messages[0]["content"])


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_search_loses_nothing_of_its_response(is_streamed: bool) -> None:
    """The next request is the one before, and the turn as it came: its prefix stays in the cache."""
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "zz"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        *searched("mail")["output"],
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
    ]
    chat = Conversation(WITH_SEARCH)
    chat.user("Write to Ann.")
    before = chat.request("openai-responses")["input"]
    body = {"object": "response", "status": "completed", "output": output}
    if is_streamed:
        collector = chat.collector()
        for at, item in enumerate(output):
            event = {"type": "response.output_item.done", "output_index": at, "item": item}
            collector.feed(event)
        collector.feed({"type": "response.completed", "response": body})
        results = chat.dispatch(collector)
    else:
        results = chat.dispatch(body)
    after = chat.request("openai-responses")["input"]
    assert after == [*before, *results.turn]
    assert [item["type"] for item in results.turn] == [
        *(item["type"] for item in output),
        "tool_search_output",
    ]
    restored = Conversation.from_json(chat.to_json(), WITH_SEARCH)
    assert restored.request("openai-responses")["input"] == after
    assert chat.repairs == ()


def test_a_hook_may_change_what_a_search_says() -> None:
    tools = Registry([*TOOLS, TOOLS.search()])

    @tools.around
    def note(context: Any, proceed: Any) -> Any:
        return context.result("[checked] " + proceed().text)

    [item] = tools.bind("openai-responses").dispatch(searched("mail")).messages
    assert item["type"] == "tool_search_output"


def test_a_tool_of_the_users_with_this_name_is_no_search() -> None:
    @tool
    def tool_search(query: str) -> str:
        """Looks for screws."""
        return query

    results = Registry([tool_search]).bind("openai-responses").dispatch(searched("hello"))
    assert (list(results), [item.kind for item in results.waits_for_app]) == (
        [],
        ["tool_search_call"],
    )


def test_a_search_finds_only_what_its_request_can_call() -> None:
    @tool(deferred=True)
    def wipe_host(host: str) -> str:
        """Wipes a host of mails."""
        return host

    tools = Registry([*TOOLS, wipe_host])
    whole = Registry([*tools, tools.search(k=1)])
    for part in (
        whole.subset(exclude=["wipe_*"]).bind("openai"),
        whole.bind("openai").subset(exclude=["wipe_*"]),
    ):
        assert "wipe_host" not in texts_of(part, "wipe host mail")
        assert "send_mail" in texts_of(part, "wipe host mail")
    later = Registry([*TOOLS])
    with_search = Registry([*later, later.search()])
    later.add(wipe_host)
    assert "wipe_host" not in texts_of(with_search.bind("openai"), "wipe host mail")


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_a_search_under_another_name_is_a_search(provider: str) -> None:
    for tools, search, found in (
        (WITH_SEARCH.prefixed("gh"), "gh_tool_search", "gh_send_mail"),
        (WITH_SEARCH.renamed({"tool_search": "find_tools"}), "find_tools", "send_mail"),
        (WITH_SEARCH.renamed({"send_mail": "post_letter"}), "tool_search", "post_letter"),
    ):
        bound = tools.bind(provider)
        request = bound.request()["tools"]
        searches = [each for each in request if "tool_search" in str(each.get("type"))]
        assert len(searches) == (provider == "openai-responses")
        assert all(each["execution"] == "client" for each in searches)
        call = {**MAIL["content"][0], "name": search}  # type: ignore[index]
        response = {**MAIL, "content": [call]} if provider == "anthropic" else searched("mail")
        assert found in str(bound.dispatch(response).messages)
        chat = Conversation(tools)
        chat.user("x")
        chat.request(provider)
        chat.dispatch(response)
        assert found in str(
            chat.request(provider)["messages" if provider == "anthropic" else "input"]
        )


def test_a_reference_to_a_tool_that_is_not_sent_is_refused_so_none_is_written() -> None:
    chat = Conversation(WITH_SEARCH)
    chat.user("x")
    chat.request("anthropic")
    chat.dispatch(MAIL)
    stored = chat.request("anthropic")["messages"]
    assert "tool_reference" in str(stored)
    some = chat.request("anthropic", choice=["now", "tool_search"])
    assert "tool_reference" not in str(some["messages"])
    again = Conversation(WITH_SEARCH)
    again.read(stored, "anthropic")
    some = again.request("anthropic", choice=["now", "tool_search"])
    assert "tool_reference" not in str(some["messages"])
    fewer = Conversation(WITH_SEARCH.subset(exclude=["send_mail"]))
    fewer.read(stored, "anthropic")
    content = str(fewer.request("anthropic")["messages"])
    assert "tool_reference" not in content
    assert "send_mail" in content


def test_the_model_reads_that_it_may_abstain_where_a_find_has_no_words() -> None:
    for provider in ("anthropic", "openai-responses"):
        assert "say that there is none" in json.dumps(WITH_SEARCH.bind(provider).request())


@pytest.mark.parametrize("provider", ["anthropic", "openai-responses"])
def test_three_searches_without_a_call_end_it(provider: str) -> None:
    chat = Conversation(WITH_SEARCH)
    chat.user("x")
    choices = []
    for number in range(4):
        choices.append(chat.request(provider).get("tool_choice"))
        call = {**MAIL["content"][0], "id": f"t{number}"}  # type: ignore[index]
        chat.dispatch(
            {**MAIL, "content": [call]}
            if provider == "anthropic"
            else searched("mail", f"c{number}")
        )
    assert choices[:3] == [None] * 3
    assert choices[3] in ("none", {"type": "none"})
    assert chat.request(provider, choice="auto").get("tool_choice") in ("auto", {"type": "auto"})
    chat.user("Then something else.")
    assert "tool_choice" not in chat.request(provider)


@pytest.mark.parametrize(
    "provider", [name for name in available() if get(name).histories is not None]
)
def test_after_three_searches_each_provider_can_be_asked(provider: str) -> None:
    """Bedrock cannot forbid calls: there the model has only read that it should end."""
    chat = Conversation(WITH_SEARCH)
    chat.user("x")
    for number in range(3):
        chat.request("anthropic")
        call = {**MAIL["content"][0], "id": f"t{number}"}  # type: ignore[index]
        chat.dispatch({**MAIL, "content": [call]})
    choice = None if provider == "bedrock" else "none"
    expected = WITH_SEARCH.request(provider, model="m", choice=choice)
    asked = chat.request(provider, model="m")
    for key, value in expected.items():
        if isinstance(value, dict):
            assert value.items() <= asked[key].items()
        else:
            assert asked[key] == value
    assert ("tools" in asked) == ("tools" in expected)


def test_an_approval_beside_a_search_keeps_both(tmp_path: Path) -> None:
    """Also where the turn is stored while the approval waits: the search is not run again."""

    @tool(approve=True)
    def pay(amount: int) -> str:
        """Pays."""
        return "paid"

    tools = Registry([*TOOLS, pay, TOOLS.search()])
    call = {
        "type": "function_call",
        "call_id": "p1",
        "name": "pay",
        "arguments": '{"amount": 1}',
        "status": "completed",
    }
    body = {**searched("mail"), "output": [*searched("mail")["output"], call]}
    seen = []
    for is_restored in (False, True):
        chat = Conversation(tools)
        chat.user("x")
        chat.request("openai-responses")
        with Ledger(tmp_path / f"{is_restored}.db") as ledger:
            chat.dispatch(body, ledger=ledger)
            if is_restored:
                chat = Conversation.from_json(json.loads(json.dumps(chat.to_json())), tools)
            chat.approve("p1")
            chat.run(ledger=ledger)
        seen.append(chat.request("openai-responses")["input"][1:])
    assert seen[0] == seen[1]
    kinds = [item["type"] for item in seen[0]]
    assert kinds == [
        "tool_search_call",
        "function_call",
        "tool_search_output",
        "function_call_output",
    ]
    assert [each["name"] for each in seen[0][2]["tools"]] == ["send_mail"]


def test_a_search_is_never_deferred() -> None:
    for deferred in (WITH_SEARCH.deferred(), WITH_SEARCH.deferred(namespace=Namespace("n", "d"))):
        assert "tool_search" in str(
            deferred.bind("openai-responses").request()["tools"][-1]["type"]
        )
        [search] = [
            entry
            for entry in deferred.bind("anthropic").request()["tools"]
            if entry["name"] == "tool_search"
        ]
        assert "defer_loading" not in search


def test_stored_searches_travel_to_the_other_provider() -> None:
    first = Conversation(WITH_SEARCH)
    first.user("x")
    first.request("anthropic")
    first.dispatch(MAIL)
    second = Conversation(WITH_SEARCH)
    second.read(first.request("anthropic")["messages"], "anthropic")
    *_, call, found = second.request("openai-responses")["input"]
    assert (call["type"], [each["name"] for each in found["tools"]]) == (
        "tool_search_call",
        ["send_mail"],
    )
    assert second.repairs == ()
    third = Conversation(WITH_SEARCH)
    third.user("x")
    third.request("openai-responses")
    turn = third.dispatch(searched("mail")).turn
    back = Conversation(WITH_SEARCH)
    back.read([{"role": "user", "content": "x"}, *turn], "openai-responses")
    [block] = back.request("anthropic")["messages"][-1]["content"]
    assert block["content"] == [{"type": "tool_reference", "tool_name": "send_mail"}]
    assert back.repairs == ()


def test_a_search_is_a_call_to_the_rules_of_histories() -> None:
    bound = WITH_SEARCH.bind("openai-responses")
    [call] = searched("mail")["output"]
    del call["id"]
    [found] = bound.dispatch(searched("mail")).messages
    user = {"role": "user", "content": "x"}
    for messages, rule in (
        ([user, call, user], "unanswered_call"),
        ([user, found], "orphan_result"),
        ([user, call, found], None),
    ):
        assert [problem.rule for problem in bound.check_messages(messages)] == [rule] * bool(rule)
    repaired = bound.repair_messages([user, call, user]).messages
    assert repaired[2] == {**found, "tools": []}


def test_our_fake_of_responses_plays_a_search() -> None:
    openai = pytest.importorskip("openai")
    with Fake("openai-responses", WITH_SEARCH) as fake:
        fake.calls("tool_search", query="mail")
        client = openai.OpenAI(base_url=f"{fake.url}/v1", api_key="x", max_retries=0)
        request = WITH_SEARCH.request("openai-responses")
        response = client.responses.create(model="gpt-5.4", input="x", **request)
        fake.calls("send_mail", to="ann")
        with client.responses.stream(model="gpt-5.4", input="x", **request) as stream:
            streamed = stream.get_final_response()
    [item] = response.output
    assert (item.type, item.arguments, item.execution) == (
        "tool_search_call",
        {"query": "mail"},
        "client",
    )
    assert WITH_SEARCH.dispatch(response)[0].value.tools[0].name == "send_mail"
    assert streamed.output[0].name == "send_mail"


@pytest.mark.parametrize(
    "line",
    [
        b'{"query": "mail", "tools": null}',
        b'{"query": "mail", "tools": "send_mail"}',
        b'{"query": "mail", "tools": []}',
        b'{"query": null, "tools": ["now"]}',
        b"\xff",
        b"[" * 100_000,
        b'"mail"',
    ],
)
def test_a_line_that_is_no_question_is_named(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"query": "mail \xe2\x80\xa8 x", "tools": ["send_mail"]}\n' + line
    )
    with pytest.raises(TargetError, match="line 2: a question is"):
        _read_questions(path)


def test_words_of_one_sign_and_vectors_of_any_size() -> None:
    assert words_of("\u96e8") == ["\u96e8"]
    assert words_of("\u96e8\u5929\u6c23") == ["\u96e8\u5929", "\u5929\u6c23"]
    large = TOOLS.search(embed=lambda texts: [[1e200, 1e200 * len(text)] for text in texts])
    assert len({found.score for found in large("x" * 9).tools}) > 1
    for wrong in (
        lambda texts: [[1.0] * (3 if "mail" in text else 2) for text in texts],
        lambda texts: None,
        lambda texts: [[10**400]] * len(texts),
        lambda texts: [[]] * len(texts),
        lambda texts: [[1.0] * len(texts)] * len(texts),
    ):
        with pytest.raises(UsageError, match="embed= returned"):
            TOOLS.search(embed=wrong)("mail")


def test_a_reference_names_the_tool_as_it_is_sent() -> None:
    """An application that stored a tool's own name gets the name that Anthropic knows."""
    bound = WITH_SEARCH.bind("anthropic")
    asked = {"type": "tool_use", "id": "c", "name": "tool_search", "input": {"query": "weather"}}
    found = {"type": "tool_reference", "tool_name": "forecast.weather"}
    messages = [
        {"role": "user", "content": "Will it rain?"},
        {"role": "assistant", "content": [asked]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [found]}],
        },
    ]
    sent = load_found(bound, messages, bound.request())
    [block] = sent[-1]["content"]
    assert block["content"] == [{"type": "tool_reference", "tool_name": "forecast_weather"}]
