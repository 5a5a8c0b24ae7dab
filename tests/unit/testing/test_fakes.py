"""Fakes: what they say, refuse and record, over HTTP and without a socket."""

import copy
import cProfile
import gc
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import tracemalloc
import types
import urllib.error
import urllib.request
from pathlib import Path
from typing import get_args

import pytest
from fakes import FAKED, MODEL, asked, body_of, collected, keywords, path_of
from jsonschema import Draft202012Validator
from test_history_rules import ROWS

import toolshape
from toolshape import CallError, Registry, UsageError, explain, tool
from toolshape._families import get
from toolshape._families.wire.histories import HistoryRuleName
from toolshape._families.wire.provider import Budget
from toolshape._schema.generate import generate
from toolshape.testing import Fake, Turn
from toolshape.testing._fake.fake import parse_request


@tool
def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be."""
    return f"{city}: sun for {days} days"


@tool
def clock(zone: str) -> str:
    """Say what time it is."""
    return f"noon in {zone}"


TOOLS = Registry([weather, clock])


def request(provider, **more):
    return {**keywords(provider), **TOOLS.bind(provider).request(**more)}


def posted(fake, given, *, stream=False):
    """Ask over HTTP: the status, the headers and the whole of what comes."""
    name = fake.provider.name
    path = path_of(name, MODEL, stream=stream)
    data = json.dumps(body_of(name, given, stream=stream)).encode()
    made = urllib.request.Request(f"{fake.url}{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(made, timeout=9) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", FAKED)
def test_over_http_as_without(provider, stream):
    """Whole and streamed, with the same bytes; two calls at once and a text."""
    with Fake(provider, TOOLS) as fake:
        fake.says("Let me see.").calls(weather, city="Bonn", days=2).calls("clock", zone="UTC")
        status, headers, content = posted(fake, request(provider), stream=stream)
        assert status == 200, content
        assert (
            "stream" in headers["Content-Type"] or "ndjson" in headers["Content-Type"]
        ) is stream
        twin = Fake(provider, TOOLS)
        twin.says("Let me see.").calls(weather, city="Bonn", days=2).calls("clock", zone="UTC")
        assert asked(twin, request(provider), stream=stream)[1] == content
    results = TOOLS.bind(provider).dispatch(fake.exchanges[0].response)
    assert [result.value for result in results] == ["Bonn: sun for 2 days", "noon in UTC"]
    assert results.finish == "tool_calls"
    assert fake.exchanges[0].tools == ("weather", "clock")
    assert fake.exchanges[0].messages[0].text == "Go."
    assert fake.exchanges[0].is_streamed is stream


FIRST = {
    "sse": b"data: {",
    "named-sse": b"event: ",
    "ndjson": b'{"model"',
    "event-stream": b"\x00\x00\x00",
}


@pytest.mark.parametrize(
    "provider", ["openai", "anthropic", "gemini", "bedrock", "cohere", "ollama", "openai-responses"]
)
def test_streams_are_framed_as_the_provider_frames_them(provider):
    fake = Fake(provider)
    fake.says("Hello, you there.")
    _, content = asked(fake, keywords(provider), stream=True)
    assert content.startswith(FIRST[fake._wire.endpoint.framing])
    assert content.endswith(b"data: [DONE]\n\n") is (provider == "openai")
    if provider in ("anthropic", "openai-responses", "cohere"):
        for event in content.decode().strip().split("\n\n"):
            name, data = event.split("\n", 1)
            assert name == f"event: {json.loads(data.removeprefix('data: '))['type']}"


def test_calls_are_validated_when_they_are_scripted():
    fake = Fake("openai", [weather])
    with pytest.raises(CallError, match="days"):
        fake.calls(weather, city="Bonn", days="many")
    with pytest.raises(CallError, match="days"):
        fake.calls("weather", city="Bonn", days="many")
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        fake.calls("weather", thing=object())
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        fake.invents("made_up", thing=object())
    with pytest.raises(
        UsageError,
        match=r"no tool 'wheather' \(did you mean \"weather\"\?\); .* invents\('wheather'\)",
    ):
        fake.calls("wheather", city="Bonn")
    with pytest.raises(UsageError, match="is a tool of this fake"):
        fake.invents("weather", city="Bonn")
    with pytest.raises(UsageError, match="raw= holds all arguments"):
        fake.calls("weather", raw={"city": "Bonn"}, days=2)
    fake.assert_done()  # nothing of it was scripted


@pytest.mark.parametrize("provider", FAKED)
@pytest.mark.parametrize("stream", [False, True])
def test_raw_arguments_are_sent_as_they_are(provider, stream):
    """The tool coerces or rejects them, as it would those of a model."""
    fake = Fake(provider, TOOLS)
    fake.calls(weather, raw={"city": "Bonn", "days": "2"})
    fake.calls("weather", raw={"city": "Bonn", "days": "many"})
    bound = TOOLS.bind(provider, False)
    given = {**keywords(provider), **bound.request()}
    [coerced] = collected(bound, fake, given, stream=stream).run()
    assert [(coercion.path, coercion.before, coercion.after) for coercion in coerced.coercions] == [
        ("days", "2", 2)
    ]
    [refused] = collected(bound, fake, given, stream=stream).run()
    assert [problem.path for problem in refused.error.problems] == ["days"]


@pytest.mark.parametrize("provider", ["gemini", "gemini-interactions", "vertex"])
def test_google_gets_one_key(provider):
    """google-genai logs a warning if both of its variables are set."""
    with Fake(provider) as fake:
        assert [name for name in fake.env if name.endswith("_API_KEY")] == ["GOOGLE_API_KEY"]


def test_a_name_that_the_request_does_not_offer_is_a_mistake_of_the_test():
    """A fake without tools of its own finds out when the request comes."""
    fake = Fake("openai")
    fake.calls("wheather", city="Bonn")
    status, content = asked(fake, request("openai"))
    assert (status, "use invents('wheather')" in content.decode()) == (400, True)
    with pytest.raises(
        AssertionError, match="the script calls wheather, but the request does not offer it"
    ):
        fake.assert_done()
    other = Fake("openai")
    other.calls("weather", city="Bonn")
    [result] = collected(TOOLS.bind("openai"), other, request("openai"), stream=False).run()
    assert result.ok


def test_tools_that_are_allowed_need_not_be_called():
    """In mode ``auto`` the model may answer with text, in mode ``required`` it calls one of the tools."""
    chosen = [{"type": "function", "function": {"name": "weather"}}]
    for mode, names in (("auto", ()), ("required", ("weather",))):
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": chosen}}
        read = get("openai").server.read_request(
            body_of("openai", {**request("openai"), "tool_choice": choice}, stream=False)
        )
        assert read.names == names


@pytest.mark.parametrize(
    ("provider", "path", "word"),
    [
        ("openai", ("choices", 0, "finish_reason"), "length"), ("anthropic", ("stop_reason",), "max_tokens"),
        ("gemini", ("candidates", 0, "finishReason"), "MAX_TOKENS"), ("bedrock", ("stopReason",), "max_tokens"),
    ],
)  # fmt: skip
def test_a_call_that_is_cut_off_ends_as_its_provider_says(provider, path, word):
    fake = Fake(provider, TOOLS)
    fake.calls(weather, slip="truncated", city="Bonn")
    _, content = asked(fake, request(provider))
    found = json.loads(content)
    for step in path:
        found = found[step]
    assert found == word


def test_as_many_strict_tools_as_are_documented_are_taken():
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    for count, status in ((20, 200), (21, 400)):
        fake = Fake("anthropic")
        fake.says("Well.")
        tools = [
            {"name": f"t{number}", "description": "T.", "strict": True, "input_schema": schema}
            for number in range(count)
        ]
        assert asked(fake, {**keywords("anthropic"), "tools": tools})[0] == status


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 10**12}, {"type": "array", "items": {}, "minItems": 10**9},
        {"type": "array", "minItems": 4_000, "items": {"type": "array", "minItems": 4_000, "items": {"type": "null"}}},
        {"type": "string", "pattern": "^((a{1000}){1000}){1000}$"}, {"type": "string", "pattern": "^a{1000000000}$"},
    ],
)  # fmt: skip
def test_a_value_that_nobody_could_send_is_not_made(schema):
    """Counted in calls: a schema that asks for very much costs no more than a schema that asks for much."""
    profile = cProfile.Profile()
    profile.runcall(generate, schema, random.Random(0))
    assert sum(entry.callcount for entry in profile.getstats()) < 1_000_000


def test_a_tool_that_is_made_up_is_called_all_the_same():
    fake = Fake("anthropic", TOOLS)
    fake.invents("wheather", city="Bonn").invents("clocks")
    for result in collected(
        TOOLS.bind("anthropic"), fake, request("anthropic"), stream=False
    ).run():
        assert result.error.code == "unknown_tool"
    fake.answers(lambda _: Turn().invents("wheather", city="Bonn"))
    [result] = collected(TOOLS.bind("anthropic"), fake, request("anthropic"), stream=False).run()
    assert result.error.code == "unknown_tool"


def test_an_argument_may_have_the_name_of_an_option():
    @tool
    def fall(slip: int) -> int:
        """Fall."""
        return slip

    fake = Fake("openai", [fall])
    fake.calls(fall, {"slip": 3})
    bound = Registry([fall]).bind("openai")
    [result] = collected(bound, fake, {**keywords("openai"), **bound.request()}, stream=False).run()
    assert result.value == 3


def test_mistakes_on_purpose():
    fake = Fake("openai", TOOLS)
    fake.calls(weather, city="Bonn", days=2, slip="wrong_type")
    [result] = collected(TOOLS.bind("openai", False), fake, request("openai"), stream=False).run()
    assert result.coercions or result.error
    with pytest.raises(UsageError, match=r"did you mean \"missing\""):
        fake.calls(weather, city="Bonn", slip="misssing")
    with pytest.raises(UsageError, match="possible slips: "):
        fake.calls(clock, zone="1", slip="enum_case")
    with pytest.raises(UsageError, match="Fake\\(provider, tools\\)"):
        Fake("openai").calls("made_up", x=1, slip="missing")


@pytest.mark.parametrize("provider", FAKED)
def test_a_response_is_cut_by_its_length(provider):
    fake = Fake(provider, TOOLS)
    fake.calls(weather, city="Bonn", days=2).cuts("length")
    results = collected(TOOLS.bind(provider), fake, request(provider), stream=True).run()
    assert results.finish == "length"
    assert all(result.error is not None for result in results)
    fake.cuts("length")
    results = collected(TOOLS.bind(provider), fake, request(provider), stream=False).run()
    assert results.finish == "length"
    assert not len(results)


def test_connections_are_dropped():
    with Fake("openai") as fake:
        fake.cuts("connection")
        with pytest.raises((ConnectionError, urllib.error.URLError)):
            posted(fake, keywords("openai"))
        for stream in (False, True):
            fake.says("It goes on and on and on.").cuts("stream")
            with pytest.raises(
                Exception, match=r"IncompleteRead|incomplete|0 bytes read"
            ) as caught:
                posted(fake, keywords("openai"), stream=stream)
            assert caught.value.partial
        assert [exchange.status for exchange in fake.exchanges] == [0, 200, 200]
        fake.assert_done()
    with pytest.raises(UsageError, match="'length', 'connection', 'stream'"):
        Turn().cuts("half")


KINDS = {
    400: "request", 401: "auth", 403: "auth", 404: "request", 413: "limits", 429: "rate", 500: "overloaded",
    503: "overloaded", 529: "overloaded",
}  # fmt: skip


@pytest.mark.parametrize("provider", FAKED)
def test_errors_have_the_providers_form(provider):
    """Each with a status, read back by ``explain`` as what it is."""
    with Fake(provider) as fake:
        for status, kind in KINDS.items():
            fake.fails(status, retry_after=2 if status in (429, 503) else None)
            found, headers, content = posted(fake, keywords(provider))
            assert found == status
            response = types.SimpleNamespace(
                status_code=found, headers=dict(headers), text=content.decode()
            )
            failure = explain(response)
            assert headers.get("retry-after") == ("2" if status in (429, 503) else None)
            assert failure.kind == kind, (status, content)
            assert failure.message
        fake.assert_done()
    with pytest.raises(UsageError, match="400 to 599"):
        fake.fails(200)


def test_what_is_said_of_a_failure_can_be_chosen():
    fake = Fake("openai")
    fake.fails(429, message="You are out of credit", code="insufficient_quota")
    status, content = asked(fake, keywords("openai"))
    assert (status, json.loads(content)["error"]["code"]) == (429, "insufficient_quota")
    assert explain(json.loads(content)).kind == "quota"


def test_what_was_not_scripted_is_told_apart():
    """By the test: what was asked, what was expected, and what was never asked for."""
    fake = Fake("openai", TOOLS)
    fake.calls(weather, city="Bonn")
    fake.says("Sunny.")
    status, content = asked(fake, keywords("openai", "What is the weather?"))
    assert status == 400
    assert (
        "but the request does not offer it; tools in the request: none"
        in json.loads(content)["error"]["message"]
    )
    with pytest.raises(AssertionError) as caught:
        fake.assert_done()
    text = str(caught.value)
    assert "last message (user): 'What is the weather?'; tools: none" in text
    call = "calls(weather, {'city': 'Bonn'})"
    assert f"expected next: {call}" in text
    assert f"never requested: {call}; says('Sunny.')" in text
    assert fake.exchanges[0].expected == call

    fake = Fake("openai", TOOLS)
    status, content = asked(fake, request("openai"))
    assert (status, "no turn left" in content.decode()) == (400, True)
    with pytest.raises(AssertionError, match="no turn left"):
        fake.assert_done()


def test_a_refused_request_leaves_the_script_where_it_was():
    fake = Fake("anthropic", TOOLS)
    fake.says("Sunny.")
    given = request("anthropic")
    bad = copy.deepcopy(given)
    bad["tools"][0]["input_schema"] = {"type": "string"}
    status, content = asked(fake, bad)
    assert (status, json.loads(content)["error"]["type"]) == (400, "invalid_request_error")
    [why] = [item for item in fake.refused if item.rule == "root_is_object"]
    assert (why.path, why.tool, why.status, why.as_recorded) == (
        "tools[0].input_schema",
        "weather",
        400,
        True,
    )
    assert "claude-code#44788" in why.evidence
    with pytest.raises(AssertionError, match=r"refused: .*root_is_object"):
        fake.assert_done()
    assert asked(fake, given)[0] == 200
    fake.assert_done()


def test_words_that_were_never_recorded_say_so():
    fake = Fake("mistral")
    fake.says("Ok.")
    wrong = {"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": True}}}
    entry = {"type": "function", "function": {"name": "find", "parameters": wrong}}
    _, content = asked(fake, {**keywords("mistral"), "tools": [entry]})
    assert "(mistral refuses this; toolshape worded the message)" in content.decode()
    assert not fake.refused[0].as_recorded


@pytest.mark.parametrize("row", ROWS, ids=[f"{provider} {rule}" for provider, rule, *_ in ROWS])
def test_histories_are_refused_by_their_rules(row):
    """Every rule of histories: what breaks it is a 400 or 422 in the provider's form, and what keeps it is accepted."""
    provider, rule, model, taken, refused = row
    if provider not in FAKED:
        pytest.skip(f"there is no fake of {provider}")
    if rule == "item_without_reasoning":
        pytest.skip(
            "a server knows of which of its items the reasoning is missing, a fake does not"
        )
    for messages, is_taken in ((taken, True), (refused, False)):
        given = {**request(provider), get(provider).histories.key: copy.deepcopy(messages)}
        given = {**given, get(provider).histories.model_key: model or MODEL}
        fake = Fake(provider)
        fake.says("Ok.")
        status, content = asked(fake, given)
        assert (status == 200) is is_taken, (content, fake.refused)
        if not is_taken:
            assert status in (400, 422)
            assert rule in {item.rule for item in fake.refused}
            assert fake.exchanges[0].response.keys() & {"error", "message", "detail", "type"}


@pytest.mark.parametrize(
    "provider", [name for name in FAKED if get(name).server.fields and ":" not in name]
)
def test_unknown_fields_are_refused_on_request(provider):
    given = {**request(provider), "surprise": 1}
    if get(provider).family == "gemini":
        given = {**request(provider)}
        given["config"]["surprise"] = 1
    for strict in (False, True):
        fake = Fake(provider, strict=strict)
        fake.says("Ok.")
        status, content = asked(fake, copy.deepcopy(given))
        assert (status == 200) is not strict, content
        assert [item.rule for item in fake.refused] == (["unknown_field"] if strict else [])


def test_what_is_required_is_missed():
    fake = Fake("anthropic")
    given = keywords("anthropic")
    del given["max_tokens"]
    status, content = asked(fake, given)
    assert (status, json.loads(content)["error"]["message"]) == (400, "max_tokens: Field required")


def test_choices_that_a_model_refuses():
    fake = Fake("anthropic", TOOLS)
    given = {**request("anthropic", choice="required"), "model": "claude-opus-5-5"}
    assert asked(fake, given)[0] == 400
    [why] = fake.refused
    assert why.rule == "choice"
    assert "claude-cookbooks#854" in why.evidence


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_no_tool_is_forced_while_a_model_thinks(provider):
    """With a budget for thinking; adaptive thinking takes it."""
    for kind, status in (("enabled", 400), ("adaptive", 200)):
        fake = Fake(provider, TOOLS)
        fake.says("Ok.")
        thinking = {"thinking": {"type": kind}}
        more = thinking if provider == "anthropic" else {"additionalModelRequestFields": thinking}
        answered, content = asked(fake, {**request(provider, choice="required"), **more})
        assert answered == status, content
        assert [why.rule for why in fake.refused] == (
            ["forced_while_thinking"] if status == 400 else []
        )


def test_a_configuration_without_tools():
    fake = Fake("bedrock")
    status, content = asked(fake, {**keywords("bedrock"), "toolConfig": {"tools": []}})
    assert status == 400
    assert b"Member must have length greater than or equal to 1" in content


FORMS = {
    name: Registry(TOOLS).export(name)
    for name in ("openai", "openai-responses", "anthropic", "gemini", "bedrock")
}


@pytest.mark.parametrize("provider", FORMS)
def test_entries_of_another_form(provider):
    """Each provider refuses tools in the form of OpenAI's, and OpenAI those of the others, which have no type."""
    others = ["anthropic", "gemini", "bedrock"] if provider == "openai" else ["openai"]
    for other in others:
        given = keywords(provider)
        if provider == "bedrock":
            given["toolConfig"] = {"tools": FORMS[other]}
        elif provider == "gemini":
            given["config"] = {**given.get("config", {}), "tools": FORMS[other]}
        else:
            given["tools"] = FORMS[other]
        fake = Fake(provider, TOOLS)
        fake.says("Ok.")
        assert asked(fake, given)[0] == 400
        assert fake.refused[0].rule in ("entry_type", "entry_keys", "required_fields")


def test_too_many_tools():
    made = [
        {"type": "function", "function": {"name": f"t{at}", "parameters": {"type": "object"}}}
        for at in range(129)
    ]
    fake = Fake("openai")
    _, content = asked(fake, {**keywords("openai"), "tools": made})
    assert json.loads(content)["error"]["code"] == "array_above_max_length"
    assert fake.refused[0].evidence == "oh-my-openagent#2848, 2026-03"


def test_what_is_no_request():
    with Fake("openai") as fake:
        for path, data in (
            ("/v1/models", b"{}"),
            ("/v1/chat/completions", b"[1"),
            ("/v1/chat/completions", b"[1]"),
        ):
            made = urllib.request.Request(f"{fake.url}{path}", data)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(made, timeout=9)
            with caught.value:
                assert caught.value.code == (404 if "models" in path else 400)
                assert json.loads(caught.value.read())["error"]["message"]
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{fake.url}/v1/models", timeout=9)
        caught.value.close()


def test_generated_answers_follow_the_choice():
    """A call where one may be made, none after results or where none may be, and the same for the same seed."""

    def made(seed, given):
        fake = Fake("openai", TOOLS)
        fake.generates(seed=seed)
        return collected(TOOLS.bind("openai"), fake, given, stream=False)

    first = made(7, request("openai"))
    assert [call.arguments for call in first.calls] == [
        call.arguments for call in made(7, request("openai")).calls
    ]
    assert len({str(made(seed, request("openai")).calls[0].arguments) for seed in range(9)}) > 3
    assert made(7, request("openai", choice="none")).calls == []
    assert {made(seed, request("openai", choice="clock")).calls[0].name for seed in range(5)} == {
        "clock"
    }
    results = first.run()
    assert (
        made(
            7, {**request("openai"), "messages": [*keywords("openai")["messages"], *results.turn]}
        ).calls
        == []
    )


def test_a_function_answers():
    fake = Fake("openai", TOOLS)
    fake.answers(
        lambda asked: (
            "Done."
            if asked.messages[-1].role == "tool"
            else Turn().calls(weather, city=asked.model)
        )
    )
    plan = collected(TOOLS.bind("openai"), fake, request("openai"), stream=False)
    results = plan.run()
    assert results[0].value == "some-model: sun for 1 days"
    history = [*keywords("openai")["messages"], *results.turn]
    body = json.loads(asked(fake, {**request("openai"), "messages": history})[1])
    assert body["choices"][0]["message"]["content"] == "Done."


def test_tools_that_another_library_has_made_a_schema_of():
    """Their schema is none of ours: the arguments are sent as they are."""
    foreign = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    }
    entry = {"type": "function", "function": {"name": "weather", "parameters": foreign}}
    fake = Fake("openai", TOOLS)
    fake.calls(weather, city="Bonn")
    body = json.loads(asked(fake, {**keywords("openai"), "tools": [entry]})[1])
    assert json.loads(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {
        "city": "Bonn"
    }


@pytest.mark.parametrize("provider", FAKED)
def test_variables_lead_to_the_fake(provider):
    with Fake(provider) as fake:
        assert all(isinstance(value, str) for value in fake.env.values())
        if get(provider).name != "mistral":
            assert any(value.startswith(fake.url) for value in fake.env.values())
    assert fake._server is None


def test_no_fake_where_no_server_is_described():
    for name in ("mcp", "json-schema", "xai:grpc"):
        with pytest.raises(UsageError, match=f"there is no fake of {name}"):
            Fake(name)


def test_a_fake_loads_no_hypothesis():
    script = "import sys; from toolshape.testing import Fake; Fake('openai').says('x'); print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {item.partition(".")[0] for item in found} & {
        "hypothesis",
        "httpx",
        "httpx2",
        "pytest",
        "jsonschema",
    }


@pytest.mark.slow
def test_many_turns_leave_nothing_behind():
    """No thread, no socket, and no memory beside the exchanges that are kept."""
    threads = threading.active_count()
    with Fake("openai") as fake:
        fake.answers(lambda _: "Ok.")
        for number in range(300):
            posted(fake, keywords("openai"))
            if number == 239:
                fake.exchanges.clear()
                gc.collect()
                tracemalloc.start()
        fake.exchanges.clear()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert grown < 100_000
        assert threading.active_count() <= threads + 3
        assert fake._server.connections <= 2
    assert threading.active_count() == threads
    assert fake._server is None


def test_a_connection_that_is_kept_open_does_not_keep_the_fake():
    with Fake("openai") as fake:
        fake.says("Ok.")
        kept = http.client.HTTPConnection(fake.url.removeprefix("http://"), timeout=9)
        kept.request("POST", "/v1/chat/completions", json.dumps(keywords("openai")))
        with kept.getresponse() as response:
            assert response.read()
        assert kept.sock is not None
        closing = threading.Thread(target=fake.close, daemon=True)
        closing.start()
        closing.join(5)
        assert not closing.is_alive()
        kept.close()


@pytest.mark.parametrize(
    ("provider", "model"),
    [("gemini", "gemini-3-pro"), ("deepseek", "deepseek-reasoner"), ("moonshot", "kimi-k2.5")],
)
def test_what_a_model_must_be_sent_back_is_in_its_response(provider, model):
    """Signatures and reasoning: the turn as it came is accepted, and without a signature it is refused."""
    given = {**request(provider), "model": model}
    key = get(provider).histories.key
    fake = Fake(provider, TOOLS)
    fake.calls(weather, city="Bonn")
    fake.says("Sunny.")
    results = collected(TOOLS.bind(provider), fake, given, stream=False).run()
    history = [*given[key], *results.turn]
    assert asked(fake, {**given, key: history})[0] == 200
    if (
        provider == "gemini"
    ):  # where nothing shows that the model thinks, the others are not known to ask for it
        del history[-2]["parts"][0]["thoughtSignature"]
        assert asked(fake, {**given, key: history})[0] == 400
        assert "missing_signature" in {item.rule for item in fake.refused}


def test_a_stream_says_what_it_cost_where_it_is_asked():
    for asks in (False, True):
        fake = Fake("openai")
        fake.says("Ok.")
        options = {"stream_options": {"include_usage": True}} if asks else {}
        _, content = asked(fake, {**keywords("openai"), **options}, stream=True)
        assert (b'"usage"' in content) is asks
        assert (b'"choices": []' in content) is asks


def test_a_program_that_never_closes_its_fake_ends(tmp_path):
    """With a connection that is kept open."""
    script = """
import http.client, json
from toolshape.testing import Fake
fake = Fake("openai")
fake.says("Ok.")
kept = http.client.HTTPConnection(fake.url.removeprefix("http://"))
kept.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}))
print(kept.getresponse().status)
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert found.stdout == "200\n"


def test_a_function_that_fails_is_told_of():
    """In the provider's form, once, and by ``assert_done``."""

    def wrong(_):
        raise ZeroDivisionError("no such luck")

    with Fake("openai") as fake:
        fake.answers(wrong)
        status, _, content = posted(fake, keywords("openai"))
        assert (status, json.loads(content)["error"]["type"]) == (400, "invalid_request_error")
        with pytest.raises(AssertionError, match="ZeroDivisionError: no such luck"):
            fake.assert_done()
    fake.answers(lambda _: None)
    assert "must return a Turn or a string, not None" in asked(fake, keywords("openai"))[1].decode()


def test_what_is_replayed_is_a_response():
    fake = Fake("openai")
    for body in ({"choices": 3}, {"choices": []}, {}, "{}", {"choices": [{"message": 1}]}):
        with pytest.raises(UsageError, match="not a response of openai"):
            fake.replays(body)
    fake.assert_done()


def test_a_function_may_ask_the_fake_it_answers_for():
    """As an agent that asks another of the same provider; and two requests may wait for each other."""
    meet = threading.Barrier(2, timeout=9)

    def answer(exchange):
        if exchange.messages[-1].text == "Go.":
            posted(fake, keywords("openai", "And you?"))
        if exchange.messages[-1].text == "Meet.":
            meet.wait()
        return "Ok."

    with Fake("openai") as fake:
        fake.answers(answer)
        assert posted(fake, keywords("openai"))[0] == 200
        assert len(fake.exchanges) == 2
        threads = [
            threading.Thread(target=posted, args=(fake, keywords("openai", "Meet.")))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(9)
        assert [exchange.status for exchange in fake.exchanges] == [200] * 4


def test_many_threads_ask_at_once():
    """Each is answered, and every turn is said once."""
    with Fake("openai") as fake:
        for number in range(40):
            fake.says(str(number))
        found = []
        ask = lambda: found.append(  # noqa: E731
            json.loads(posted(fake, keywords("openai"))[2])["choices"][0]["message"]["content"]
        )
        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(map(int, found)) == list(range(40))
        fake.assert_done()


def test_a_body_in_chunks():
    with Fake("openai") as fake:
        fake.says("Ok.")
        fake.says("Once more.")
        kept = http.client.HTTPConnection(fake.url.removeprefix("http://"), timeout=9)
        data = json.dumps(keywords("openai")).encode()
        for _ in range(2):
            kept.request(
                "POST", "/v1/chat/completions", iter([data[:20], data[20:]]), encode_chunked=True
            )
            with kept.getresponse() as response:
                assert response.status == 200
                response.read()
        kept.close()


PLACES = [
    (
        "bedrock",
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude/converse",
    ),
    ("gemini", "/v1beta/tunedModels/mine:generateContent"),
    ("vertex", "/v1/projects/p/locations/l/endpoints/123:generateContent"),
    (
        "vertex",
        "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-pro:generateContent",
    ),
    ("azure", "/openai/deployments/mine/chat/completions?api-version=2024-10-21"),
]


@pytest.mark.parametrize(("provider", "path"), PLACES)
def test_addresses(provider, path):
    fake = Fake(provider)
    fake.says("Ok.")
    reply = fake._handle(
        "POST", path, json.dumps(body_of(provider, keywords(provider), stream=False)).encode()
    )
    assert reply.status == 200
    assert fake.exchanges[0].model in (
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude",
        "mine",
        "123",
        "gemini-3-pro",
        MODEL,
    )


def test_gemini_streams_an_array_where_no_events_are_asked_for():
    fake = Fake("gemini")
    fake.says("Hello, you there.")
    reply = fake._handle(
        "POST",
        f"/v1beta/models/{MODEL}:streamGenerateContent",
        json.dumps(body_of("gemini", keywords("gemini"), stream=True)).encode(),
    )
    chunks = json.loads(b"".join(reply.chunks))
    assert (
        "".join(
            part["text"] for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]
        )
        == "Hello, you there."
    )


def test_each_form_of_geminis_parameters_has_its_own_rules():
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}},
        "additionalProperties": False,
    }
    for provider in ("gemini", "gemini-openapi", "vertex"):
        for key, is_taken in (("parametersJsonSchema", True), ("parameters", False)):
            fake = Fake(provider)
            fake.says("Ok.")
            tools = [{"functionDeclarations": [{"name": "find", key: schema}]}]
            assert (
                asked(fake, {**keywords(provider), "config": {"tools": tools}})[0] == 200
            ) is is_taken


def test_a_tool_is_counted_beside_the_providers_own():
    fake = Fake("anthropic")
    tools = [
        {"type": "web_search_20250305", "name": "web_search"},
        {"name": "find", "input_schema": {"type": "array"}},
    ]
    _, content = asked(fake, {**keywords("anthropic"), "tools": tools})
    assert json.loads(content)["error"]["message"].startswith("tools.1.custom.input_schema.type")
    assert fake.refused[0].path == "tools[1].input_schema"


def test_what_is_generated_does_not_depend_on_what_was_refused():
    def second(is_refused):
        fake = Fake("openai", TOOLS)
        fake.generates(seed=3)
        asked(fake, request("openai"))
        if is_refused:
            assert asked(fake, {**request("openai"), "messages": None})[0] == 400
            fake.exchanges.clear()
        return (
            collected(TOOLS.bind("openai"), fake, request("openai"), stream=False)
            .calls[0]
            .arguments
        )

    assert second(is_refused=True) == second(is_refused=False)


def test_a_text_about_results_is_no_result():
    fake = Fake("openai", TOOLS)
    fake.generates()
    given = {**request("openai"), **keywords("openai", 'Is my "tool_result" ok?')}
    assert collected(TOOLS.bind("openai"), fake, given, stream=False).calls


def test_a_turn_that_a_function_makes_knows_the_tools_of_the_fake():
    fake = Fake("openai", TOOLS)
    fake.answers(lambda _: Turn().calls("weather", city=5))
    status, content = asked(fake, request("openai"))
    assert (status, "CallError" in content.decode()) == (400, True)
    fake.answers(lambda _: Turn().fails(429, retry_after=1_234_567.5))
    made = fake._handle("POST", "/v1/chat/completions", json.dumps(request("openai")).encode())
    assert (made.status, made.headers["retry-after"]) == (429, "1234567.5")


def test_what_goes_on_from_what_the_server_keeps():
    """A result alone, after a thread of Anthropic's; and a message that Mistral's model is to go on with."""
    answer = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"}],
    }
    for thread, status in (
        ({"type": "continue", "previous_message_id": "msg_1"}, 200),
        (None, 400),
    ):
        fake = Fake("anthropic")
        fake.says("Ok.")
        given = {
            **request("anthropic"),
            "messages": [answer],
            **({"thread": thread} if thread else {}),
        }
        assert asked(fake, given)[0] == status
    for prefix, status in ((True, 200), (False, 400)):
        fake = Fake("mistral")
        fake.says("Ok.")
        begun = {"role": "assistant", "content": "It is", "prefix": prefix}
        assert (
            asked(
                fake, {**keywords("mistral"), "messages": [*keywords("mistral")["messages"], begun]}
            )[0]
            == status
        )


@pytest.mark.parametrize(("provider", "is_streamed"), [("ollama", True), ("openai", False)])
def test_null_for_stream_is_the_providers_default(provider, is_streamed):
    """A client may write null for what it leaves out; Ollama's server streams unless it is told not to."""
    bodies = [
        {**body_of(provider, keywords(provider), stream=False), "stream": None},
        {"model": "m", "messages": [{"role": "user", "content": "Go."}]},
    ]
    for body in bodies:
        raw = json.dumps(body).encode()
        path = path_of(provider, "m", stream=False)
        framing = parse_request(get(provider), "POST", path, raw).framing
        assert (framing is not None) is is_streamed


@pytest.mark.parametrize("provider", ["cohere", "ollama", "mistral"])
def test_streams_that_always_say_what_they_cost(provider):
    fake = Fake(provider)
    fake.says("It will be sunny, and warm, and there will be no wind.")
    _, content = asked(fake, keywords(provider), stream=True)
    counts = map(
        int,
        re.findall(r'"(?:output_tokens|eval_count|completion_tokens)": (\d+)', content.decode()),
    )
    assert max(counts) > 5


def test_a_refusal_is_streamed_as_one():
    part = {"type": "refusal", "refusal": "I would rather not."}
    item = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    fake = Fake("openai-responses")
    fake.replays({"id": "resp_1", "object": "response", "status": "completed", "output": [item]})
    _, content = asked(fake, keywords("openai-responses"), stream=True)
    assert b'"type": "response.refusal.delta"' in content


def test_a_forced_call_needs_a_function():
    fake = Fake("openai")
    fake.generates()
    given = {
        **keywords("openai"),
        "tools": [{"type": "custom", "custom": {"name": "c"}}],
        "tool_choice": "required",
    }
    assert "has no function to call" in asked(fake, given)[1].decode()


def test_requests_that_are_none_are_told_of():
    fake = Fake("anthropic")
    fake.answers(lambda _: "Ok.")
    fake._handle("POST", "/v1/complete", b"{}")
    with pytest.raises(AssertionError, match="there is no POST /v1/complete here"):
        fake.assert_done()


def test_tools_of_one_name_are_told_apart():
    def mapped(tags: dict[str, int]) -> str:
        """Tag."""
        return str(tags)

    def plain(tags: str) -> str:
        """Tag."""
        return tags

    fake = Fake("openai")
    for function, value in ((plain, "x"), (mapped, {"x": 1})):
        made = tool(name="tag")(function)
        bound = Registry([made], strict=True).bind("openai")
        fake.calls(made, tags=value)
        [result] = collected(
            bound, fake, {**keywords("openai"), **bound.request()}, stream=False
        ).run()
        assert result.arguments == {"tags": value}
        assert not result.coercions


def test_a_history_over_two_fakes_has_no_id_twice():
    first, second = Fake("openai", TOOLS), Fake("openai", TOOLS)
    given = request("openai")
    for fake in (first, second):
        fake.calls(weather, city="Bonn")
        results = collected(TOOLS.bind("openai"), fake, given, stream=False).run()
        given = {**given, "messages": [*given["messages"], *results.turn]}
    assert (
        len({call["id"] for message in given["messages"] for call in message.get("tool_calls", ())})
        == 2
    )


SCHEMAS = [
    {"type": "string", "pattern": "^[A-Z]{2}-\\d{3,5}(x|yy)?$", "minLength": 7},
    {"type": "string", "minLength": 20, "maxLength": 25},
    {"type": "integer", "minimum": 5, "maximum": 5},
    {"type": "integer", "exclusiveMinimum": -3, "exclusiveMaximum": 2, "multipleOf": 2},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    {"type": "number", "maximum": -5000},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "maxItems": 3, "uniqueItems": True},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "items": False},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2, "maxProperties": 3},
    {"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "boolean"}}, "additionalProperties": False},
    {"type": ["string", "null"]},
    {"const": {"a": 1}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "either"},
    {"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object", "properties": {"left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}}, "required": ["left"]}}},
    {"$ref": "#/$defs/E", "$defs": {"E": {"anyOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/N"}]}, "N": {"type": "integer"}, "B": {"type": "object", "properties": {"l": {"$ref": "#/$defs/E"}, "r": {"$ref": "#/$defs/E"}}, "required": ["l", "r"]}}},
    {"type": "string", "format": "email", "maxLength": 5},
    {"type": "string", "enum": [1, "a", True]},
    {"anyOf": [True, {"type": "string"}]},
    {"type": "string", "pattern": "[^ -~]+"},
    {},
    True,
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
def test_what_is_generated_is_admitted(schema):
    for seed in range(60):
        value = generate(schema, random.Random(seed))
        assert not list(Draft202012Validator(schema).iter_errors(value)), value


def test_texts_of_formats_are_of_them():
    for name, pattern in (
        ("date", r"\d{4}-\d\d-\d\d"),
        ("uuid", r"[0-9a-f-]{36}"),
        ("ipv4", r"(\d+\.){3}\d+"),
    ):
        assert re.fullmatch(pattern, generate({"type": "string", "format": name}, random.Random(1)))


def test_every_wording_is_of_a_rule():
    """A rule that is renamed, or gone, leaves no words behind."""
    source = "".join(
        path.read_text(encoding="utf-8") for path in Path(toolshape.__file__).parent.rglob("*.py")
    )
    checks = re.findall(r"def (\w+)\(node: JsonSchema, at: Place\) -> str \| None", source)
    faults = re.findall(r"RequestFault\(\s*[^,]+,\s*\"(\w+)\"", source)
    budgets = [f"strict_{name}" for name in Budget._fields]
    names = {
        *checks,
        *faults,
        *re.findall(r'rule="(\w+)"', source),
        *get_args(HistoryRuleName),
        *budgets,
    }
    for provider in FAKED:
        assert {
            wording.removeprefix("output:").partition(":")[0]
            for wording in get(provider).server.wordings
        } <= names, provider


def test_a_body_that_is_nested_too_deep_is_a_request():
    """It is refused and recorded, as any body that cannot be read."""
    fake = Fake("openai")
    for raw in (b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"{"):
        reply = fake._handle("POST", "/v1/chat/completions", raw)
        assert reply.status == 400
    assert [exchange.status for exchange in fake.exchanges] == [400] * 4
