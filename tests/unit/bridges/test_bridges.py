"""What the bridges share, without a framework: delivery, approval, the ledger, observers, and who may be bridged."""

import asyncio
import json

import pytest
from pydantic import SecretStr

from toolshape import (
    CallContext,
    Deny,
    Image,
    Injected,
    Registry,
    Text,
    ToolError,
    UsageError,
    tool,
)
from toolshape._plan import steps
from toolshape.bridges import _delivery as delivery
from toolshape.bridges._delivery import Delivered

sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs toolshape[ledger]")
from toolshape.ledger import Ledger  # noqa: E402

PAID: list[tuple[int, str]] = []


@tool(effects=["write"], approve=lambda arguments: arguments["amount"] > 100)
def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    PAID.append((amount, to))
    return f"paid {amount} to {to}"


@tool(effects=["read"])
def whose(context: CallContext, *, user: Injected[str]) -> str:
    """Say whose."""
    return f"{user} {context.call_id}"


@pytest.fixture
def ledger(tmp_path):
    PAID.clear()
    with Ledger(tmp_path / "calls.db") as opened:
        yield opened


def delivered(name, arguments, call_id="call_1", context=None):
    return Delivered(call_id, name, arguments, context, lambda _: context)


def answer(
    bridge, call, decide=lambda waiting: pytest.fail("nothing is to be asked"), *, is_async=False
):
    how = steps.IN_LOOP if is_async else steps.HERE
    answering = delivery.run_call(bridge.plan(call), bridge.run_options(call), decide, how)
    return asyncio.run(answering) if is_async else steps.run_here(answering)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("decision", "paid", "text"),
    [
        (True, [(500, "ann")], "paid 500 to ann"),
        ({"amount": 50, "to": "ann"}, [(50, "ann")], "paid 50 to ann"),
        ({"amount": 900, "to": "ann"}, [(900, "ann")], "paid 900 to ann"),
        (Deny("not today"), [], "pay was not allowed and was not run: not today"),
        (False, [], "pay was not allowed and was not run."),
    ],
)
def test_a_decision_counts_once(ledger, decision, paid, text, is_async):
    """Delivered again, as by a second click, the ledger answers and nobody is asked."""
    bridge = delivery.bridge(Registry([pay]), "openai", None, {"ledger": ledger})
    call = delivered("pay", '{"amount": "500", "to": "ann"}')
    assert answer(bridge, call, lambda _: decision, is_async=is_async).text == text
    assert answer(bridge, call, is_async=is_async).text == text
    assert paid == PAID


def test_what_a_decision_raises_leaves_the_call_as_it_was(ledger):
    """So a framework pauses; delivered again, the call is asked for again."""
    bridge = delivery.bridge(Registry([pay]), "openai", None, {"ledger": ledger})
    call = delivered("pay", {"amount": 500, "to": "ann"})

    def pause(waiting):
        raise KeyboardInterrupt(json.dumps(delivery.approval_request(waiting)))

    with pytest.raises(KeyboardInterrupt, match=r'"arguments": {"amount": 500, "to": "ann"}'):
        answer(bridge, call, pause)
    assert (PAID, ledger.entries()) == ([], [])
    assert asyncio.run(delivery.must_request_approval(bridge, call))
    assert answer(bridge, call, lambda _: True).ok
    assert not asyncio.run(delivery.must_request_approval(bridge, call))
    assert asyncio.run(delivery.needs_approval(bridge.plan(call), bridge.run_options(call)))


def test_a_call_without_an_id_and_a_scope_is_denied(ledger):
    """Delivered again, the ledger could not recognise it; calls that need no approval run."""
    call = delivered("pay", {"amount": 500, "to": "ann"}, "")
    bridge = delivery.bridge(Registry([pay]), "openai", None, {"ledger": ledger})
    assert "has no id" in answer(bridge, call).text
    assert answer(bridge, delivered("pay", {"amount": 5, "to": "eve"}, "")).ok
    in_scope = delivery.bridge(
        Registry([pay]), "openai", None, {"ledger": ledger, "scope": "turn 1"}
    )
    assert answer(in_scope, call, lambda _: True).ok
    assert PAID == [(5, "eve"), (500, "ann")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"user": "ann", "password": "[hidden]"}, "mask of a secret"),
        ({"password": "a"}, "user: required"),
    ],
)
def test_an_edit_is_checked_before_it_is_applied(ledger, arguments, said):
    """As ``plan.edit`` does it, but the call does not change."""

    @tool(effects=["write"], approve=True)
    def login(user: str, password: SecretStr) -> str:
        """Log in."""
        return user

    bridge = delivery.bridge(Registry([login]), "openai", None, {"ledger": ledger})
    plan = bridge.plan(delivered("login", {"user": "bob", "password": "horse"}))
    assert delivery.approval_request(plan.pending[0])["arguments"] == {
        "user": "bob",
        "password": "[hidden]",
    }
    with pytest.raises(ValueError, match=said):
        delivery.check_edit(plan.pending[0], arguments)
    delivery.check_edit(plan.pending[0], {"user": "ann", "password": "battery"})
    assert plan.pending[0].arguments["user"] == "bob"


def test_an_edit_that_is_not_valid_runs_nothing(ledger):
    bridge = delivery.bridge(Registry([pay]), "openai", None, {"ledger": ledger})
    with pytest.raises(
        UsageError, match=r"edited arguments of pay are invalid: amount: expected integer"
    ):
        answer(
            bridge,
            delivered("pay", {"amount": 500, "to": "ann"}),
            lambda _: {"amount": "much", "to": "ann"},
        )
    assert PAID == []


def test_scopes_tell_equal_ids_apart(ledger):
    """A server that counts its ids from 0 is told apart by the conversation."""
    bridge = delivery.bridge(
        Registry([pay]), "openai", None, {"ledger": ledger, "scope": lambda context: context}
    )
    for conversation in ("a", "b", "a"):
        answer(bridge, delivered("pay", {"amount": 5, "to": "ann"}, "call_0", conversation))
    assert PAID == [(5, "ann")] * 2


def test_what_is_injected_may_depend_on_the_context():
    bridge = delivery.bridge(
        Registry([whose]), "openai", None, {"inject": lambda context: {"user": context}}
    )
    assert answer(bridge, delivered("whose", "{}", "call_7", "ann")).value == "ann call_7"


@pytest.mark.parametrize("package", ["pydantic_ai", "agents"])
def test_a_context_is_filled_by_its_own_framework_only(package):
    """In another, it is a value that is missing."""
    context = type("RunContext", (), {"__module__": "pydantic_ai.tools"})

    def look(ctx, text: str = "") -> str:
        return f"{ctx} {text}"

    look.__annotations__["ctx"] = context
    bridge = delivery.bridge(Registry([tool(look)]), "openai", None, {}, [package])
    call = delivered("look", {"text": "a"}, context="given")
    assert bridge.definitions["look"].schema["properties"].keys() == {"text"}
    if package == "pydantic_ai":
        assert answer(bridge, call).text == "given a"
    else:
        with pytest.raises(UsageError, match="ctx"):
            answer(bridge, call)


@pytest.mark.parametrize(
    "options", [{"effects": ["read"]}, {"effects": ["idempotent"]}, {"effects": ["write"]}, {}]
)
def test_who_needs_a_ledger(options):
    """A tool that needs approval, and that two runs of may harm."""
    made = tool(approve=True, **options)(pay.function)
    if options.get("effects") in (["read"], ["idempotent"]):
        delivery.bridge(Registry([made]), "openai", None, {})
    else:
        with pytest.raises(UsageError, match=r"pay needs approval.*pass ledger="):
            delivery.bridge(Registry([made]), "openai", None, {})


def test_what_is_no_registry_and_no_keyword_is_named(ledger):
    with pytest.raises(UsageError, match=r"takes a Registry, not list: write Registry\(\[...\]\)"):
        delivery.bridge([pay], "openai", None, {"ledger": ledger})
    with pytest.raises(TypeError, match="unknown keyword 'legder' did you mean \"ledger\""):
        delivery.bridge(Registry([pay]), "openai", None, {"legder": ledger})
    with pytest.raises(UsageError, match=r"takes a toolshape\.ledger\.Ledger, not str"):
        delivery.bridge(Registry([pay]), "openai", None, {"ledger": "calls.db"})
    for options, said in (
        ({"inject": "ann"}, "inject= takes values by name"),
        ({"scope": 5}, "scope= must be a string"),
    ):
        with pytest.raises(UsageError, match=said):
            delivery.bridge(Registry([pay]), "openai", None, {"ledger": ledger, **options})


@pytest.mark.parametrize("arguments", [{}, "{}"])
@pytest.mark.parametrize(
    "provider",
    [
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mistral",
        "cohere",
        "json-schema",
    ],
)
def test_observers_see_a_response_of_the_provider(provider, arguments):
    """The tools, bound to that provider, read it as the call, and it changes nothing of the result."""
    seen = []

    class Observer:
        def observe(self, bound, response):
            seen.append((bound, response))

    tools = Registry([whose])
    tools.observe(Observer())
    bridge = delivery.bridge(tools, provider, None, {"inject": {"user": "ann"}})
    assert answer(bridge, delivered("whose", arguments, "abcdefghi")).coercions == ()
    [(bound, response)] = seen
    assert response.outcome[0].value == "ann abcdefghi"
    [again] = bound.plan(response.response).calls
    assert (again.name, again.id, again.arguments) == ("whose", "abcdefghi", {})


def test_a_delivered_call_has_a_span():
    """Hooks run around it, and spans are made by a hook."""
    exporters = pytest.importorskip(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter", reason="needs opentelemetry"
    )
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    from toolshape.otel import instrument

    exporter, provider = exporters.InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tools = Registry([whose])
    instrument(tools, tracer_provider=provider)
    bridge = delivery.bridge(tools, "openai", None, {"inject": {"user": "ann"}})
    assert answer(bridge, delivered("whose", "{}", "call_7"), is_async=True).ok
    assert [span.attributes["gen_ai.tool.call.id"] for span in exporter.get_finished_spans()] == [
        "call_7"
    ]


def test_parts_that_a_result_cannot_hold_are_named():
    """In Chat Completions, whose results are texts."""
    parts = (Text("seen"), Image(b"\x89PNG"))
    chat = delivery.bridge(Registry([whose]), "openai", None, {})
    assert chat.sendable(parts) == [Text("seen"), Text("[image/png, 4 bytes]")]
    assert delivery.bridge(Registry([whose]), "anthropic", None, {}).sendable(parts) == [*parts]


def test_details_are_json():
    """The coercions and the code of an error, for the application."""

    @tool
    def find(number: int) -> str:
        """Find."""
        if number == 1:
            raise ToolError("there is none")
        return "found"

    bridge = delivery.bridge(Registry([find]), "openai", None, {})
    details = [
        delivery.details(answer(bridge, delivered("find", {"number": given}))) for given in ("1", 2)
    ]
    assert json.loads(json.dumps(details)) == [
        {
            "coercions": [{"path": "number", "rule": "number_text"}],
            "error": "tool_error",
            "replayed": False,
        },
        {"coercions": [], "error": None, "replayed": False},
    ]
