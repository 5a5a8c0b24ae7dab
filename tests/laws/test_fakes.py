"""The laws of fakes: for every provider that has one, and tools of every kind."""

import copy
import json
import os

import pytest
from fakes import FAKED, MODEL, asked, body_of, collected, keywords, path_of
from histories import (
    DEFAULTS,
    TOOLS,
    delete_result,
    duplicate_result,
    on_wire,
    orphan,
    swap_messages,
)
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from rows import ROWS
from zoo import CASES

from toolshape import CallError, Registry
from toolshape._families import get
from toolshape._families.wire.server import Completion
from toolshape._records.calls import WireCall
from toolshape._tools.tool import as_tool
from toolshape.messages import calls_in
from toolshape.testing import Fake, Turn, slips
from toolshape.testing._laws import values

FEW = bool(os.environ.get("TOOLSHAPE_EXAMPLES"))
LAW = settings(max_examples=3 if FEW else 12, database=None, deadline=None, derandomize=True)
EVERY = pytest.mark.parametrize("provider", FAKED)
MAIN = [name for name in FAKED if name in DEFAULTS]
BODIES = [
    (row.provider, row.response)
    for row in ROWS
    if row.provider in FAKED
    and isinstance(row.response, dict)
    and "role" not in row.response  # else it is a message
]
OF_ARGUMENTS = {"invalid_arguments", "malformed_arguments", "truncated_arguments", "unknown_tool"}


def is_taken(result):
    """Whether a tool took its arguments, whatever it did with them."""
    return result.error is None or result.error.code not in OF_ARGUMENTS


def folded(provider, body):
    """A body as its stream's events come together, each as JSON."""
    found = {}
    for event in get(provider).server.unfold(copy.deepcopy(body)):
        get(provider).response.fold(found, json.loads(json.dumps(event)))
    return found


def says(provider, body):
    """What a body says, however its texts are cut into pieces."""
    assistant, calls, finish, *_ = get(provider).response.read(copy.deepcopy(body))
    histories = get(provider).histories
    messages = [histories.read(item, f"messages[{at}]") for at, item in enumerate(assistant)]
    texts = "".join(
        part.text for message in messages for part in message.parts if hasattr(part, "text")
    )
    return texts, [tuple(call)[1:3] for call in calls], finish


@pytest.mark.parametrize(("provider", "body"), BODIES)
def test_what_was_unfolded_folds_to_the_same(provider, body):
    assert says(provider, folded(provider, body)) == says(provider, body)


WORDLESS = {
    "gemini": ("tool_calls",),
    "openai-responses": ("tool_calls",),
    "ollama": ("tool_calls",),
}
"""What a family has no word of its own for."""


@EVERY
def test_what_is_responded_folds_to_the_same(provider):
    @LAW
    @given(
        st.text(max_size=80),
        st.lists(
            st.dictionaries(st.text("ab", min_size=1), st.text(max_size=60) | st.integers()),
            max_size=3,
        ),
        st.sampled_from(["stop", "length", "refusal"]),
    )
    def law(text, calls, finish):
        made = tuple(WireCall(f"call0000{at}", "find", call) for at, call in enumerate(calls))
        finish = "tool_calls" if made and finish == "stop" else finish
        body = json.loads(
            json.dumps(
                get(provider).server.respond(Completion(MODEL, "0", text, made, finish=finish))
            )
        )
        found = says(provider, body)
        assert says(provider, folded(provider, body)) == found
        assert [name for name, _ in found[1]] == ["find" for _ in made]
        wordless = WORDLESS.get(get(provider).family, ())
        assert (
            get(provider).response.finishes[found[2]] == ("stop" if finish in wordless else finish)
            or finish == "refusal"
        )
        assistant, again = (
            get(provider).response.read(body)[0],
            get(provider).response.read(folded(provider, body))[0],
        )
        if get(provider).family != "gemini":  # whose texts come in parts
            assert again == assistant

    law()


def is_as_sent(exchange):
    """Whether the call on the wire is what the schema that was sent admits; OpenAPI's ``nullable`` is no JSON Schema."""
    [sent] = exchange.provider.server.read_request(exchange.request).tools
    [(_, arguments)] = says(exchange.provider.name, exchange.response)[1]
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    if (
        sent.dialect == "gemini-openapi"
        or sent.schema is None
        or '"nullable"' in json.dumps(sent.schema)
    ):
        return True
    return Draft202012Validator(sent.schema).is_valid(arguments)


TAKEN = {
    name: case for name, case in CASES.items() if name != "many_optionals"
}  # more than some providers take
UNSAID = {"precise": "no keyword says what the text of a complex number looks like"}


@pytest.mark.parametrize("provider", MAIN)
def test_a_scripted_call_arrives_as_it_was_scripted(provider):
    """Through the schema that was sent, lenient or strict, whole and streamed, to the function's arguments."""
    seen = 0
    for name, case in TAKEN.items():
        made = as_tool(case.function)
        try:
            Turn().calls(made, case.arguments)
        except CallError:  # what the zoo has of it is taken after a coercion alone
            continue
        for strict, stream in ((False, True), ("auto", False)):
            bound = Registry([made]).bind(provider, strict)
            fake = Fake(provider, [made])
            fake.calls(made, case.arguments)
            [result] = collected(
                bound, fake, {**keywords(provider), **bound.request()}, stream=stream
            ).run()
            assert not result.coercions, (name, strict, result)
            assert is_taken(result), (name, strict, result)
            fake.assert_done()
            assert is_as_sent(fake.exchanges[0]), (name, strict, fake.exchanges[0].response)
        seen += 1
    assert seen > 50


@pytest.mark.parametrize("provider", MAIN)
def test_what_is_generated_is_taken(provider):
    """From the schema that was sent, by the function that it was made from."""
    for name, case in TAKEN.items():
        if name in UNSAID:
            continue
        made = as_tool(case.function)
        bound = Registry([made]).bind(provider)
        for seed in (7,) if FEW else (7, 8):
            fake = Fake(provider, [made])
            fake.generates(seed=seed)
            plan = collected(bound, fake, {**keywords(provider), **bound.request()}, stream=False)
            [result] = plan.run()
            assert is_taken(result), (name, result.call, result.error)


@pytest.mark.parametrize("provider", MAIN)
def test_mistakes_of_every_kind_arrive(provider):
    """As the model's own mistakes: coerced, refused, or no call where the provider sends objects alone."""
    made = TOOLS["scalars"]
    arguments = CASES["scalars"].arguments
    bound = Registry([made]).bind(provider, False)
    kinds = {slip.kind for slip in slips(made, arguments)}
    assert len(kinds) >= 8
    for kind in sorted(kinds):
        for stream in (False, True):
            fake = Fake(provider, [made])
            fake.calls(made, arguments, slip=kind)
            plan = collected(bound, fake, {**keywords(provider), **bound.request()}, stream=stream)
            results = plan.run()
            sends_text = (
                "text" in get(provider).facts.arguments or get(provider).family == "anthropic"
            )
            assert len(results) == 1 or not sends_text, (kind, stream)
            for result in results:
                is_as_meant = (
                    kind == "nested_text" and result.arguments == arguments
                )  # text in place of an object
                assert result.error is not None or result.coercions or is_as_meant, (kind, result)
            assert len(results) or results.finish != "tool_calls", (kind, stream)


_JUNK = st.sampled_from(
    [None, True, 0, 1.5, "", "x", [], [None], [[]], {}, {"": None}, "tool_result", [{"a": []}]]
)


def places(node, path=()):
    """The places of a JSON value."""
    yield path
    for key, inner in (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    ):
        yield from places(inner, (*path, key))


def replaced(node, path, value):
    if not path:
        return value
    made = copy.copy(node)
    made[path[0]] = replaced(node[path[0]], path[1:], value)
    return made


@EVERY
def test_any_body_gets_a_reply(provider):
    """Whatever stands at a place of a request: it is answered, or refused by a rule; the fake does not fail."""
    bound, key = TOOLS.bind(provider), get(provider).histories.key
    fake = Fake(provider, TOOLS)
    fake.calls("scalars", CASES["scalars"].arguments)
    request = {**keywords(provider), **bound.request()}
    results = collected(bound, fake, request, stream=False).run()
    whole = body_of(provider, {**request, key: [*request[key], *results.turn]}, stream=False)
    path = path_of(provider, MODEL, stream=False)

    @settings(LAW, max_examples=40 if FEW else 400)
    @given(st.sampled_from(list(places(whole))), _JUNK)
    def law(place, junk):
        fake = Fake(provider, TOOLS)
        fake.answers(lambda _: "Ok.")
        reply = fake._handle("POST", path, json.dumps(replaced(whole, place, junk)).encode())
        assert reply.status in (200, 400, 422)
        assert not fake._misses or "not a JSON object" in fake._misses[0], fake._misses

    law()


CORRUPTIONS = {
    delete_result: {"unanswered_call", "open_turn"},
    duplicate_result: {"duplicate_result"},
    swap_messages: {"orphan_result", "late_result", "unanswered_call"},
    orphan: {"orphan_result"},
}


@pytest.mark.parametrize("provider", MAIN)
def test_every_turn_that_is_written_is_accepted(provider):
    """After the response that it answers. Where a rule says so, it is refused without a result, or with one more."""
    cited = {rule.name for rule in get(provider).histories.rules if rule.holds(MODEL)}
    bound, key = TOOLS.bind(provider), get(provider).histories.key

    @LAW
    @given(st.data())
    def law(data):
        names = data.draw(
            st.lists(st.sampled_from([tool.name for tool in TOOLS]), min_size=1, max_size=3)
        )
        fake = Fake(provider, TOOLS)
        turn = fake.says("Let me see.")
        for name in names:
            turn.calls(name, data.draw(values(TOOLS[name].input_schema)))
        fake.says("All done.")
        request = {**keywords(provider), **bound.request()}
        results = collected(bound, fake, request, stream=False).run()
        history = [*request[key], *results.turn]
        status, content = asked(fake, {**request, key: history})
        assert status == 200, (content, fake.refused)
        fake.assert_done()
        for corrupt, rules in CORRUPTIONS.items():
            records = bound.read_messages(copy.deepcopy(history))
            last = max(at for at, record in enumerate(records) if calls_in(record))
            wrong = on_wire(bound, corrupt(records, last))
            fake.says("Accepted.")
            status, content = asked(fake, {**request, key: wrong})
            why = fake.exchanges[-1].refused
            assert all(item.evidence for item in why)
            assert (status == 200) == (not why)
            is_sick = (
                corrupt is not swap_messages or len(names) == 1
            )  # items of several calls may come in any order
            if rules & cited and is_sick:
                assert rules & {item.rule for item in why}, (corrupt.__name__, wrong)

    law()
