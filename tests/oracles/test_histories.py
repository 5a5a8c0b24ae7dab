"""The lane *histories*: what is stored as the SDKs' types have it, carried from A to B to C, loses nothing unnamed.

A case is a request of one provider, drawn by ``history_draws``. It is read, sent to B, read there, and sent to C. What
each request says is read by ``history_facts``, and whether it may be sent is judged by the SDKs' types, mistral-common
and
botocore: none of these is toolshape's code.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from history_draws import PROVIDERS, draw_history, with_bytes
from history_facts import KEYS, Fact, facts_of
from lanes import check_drawn, check_kept, in_blocks

from toolshape import Conversation, HistoryError, Registry, tool

judges = pytest.importorskip(
    "judges", reason="the SDKs' types are the judges: they need the extra sdks"
)

LANE = "histories"
TARGETS = (*PROVIDERS, *PROVIDERS, "vertex", "cohere", "ollama")
OPEN = {"open_turn", "last_is_assistant"}
MARKED = (
    "openai",
    "openai-responses",
    "mistral",
    "cohere",
    "ollama",
)  # which have no flag for errors
REASONING = {"foreign_reasoning", "refused_reasoning", "reasoning_alone", "item_id"}
SPEAKING = {
    "user_after_result",
    "first_is_assistant",
    "call_placement",
    "media_as_text",
    "media_in_result",
}
REORDERED = {"late_result", "text_after_call", "system_moved", "system_between"}
NEW_CHUNKS = (
    "thinking",
    "document_url",
)  # mistralai has them, mistral-common's reading of OpenAI's messages does not
# The forms of ids that are refused, with the evidence, stand in docs/histories.md.
IDS = {
    "openai": r"(?s).{1,40}", "openai-responses": r"(?s).{1,64}", "anthropic": r"[a-zA-Z0-9_-]+", "gemini": r"(?s).*",
    "bedrock": r"[a-zA-Z0-9_.:-]{1,64}", "mistral": r"[a-zA-Z0-9]{9}",
}  # fmt: skip


# By its name some rules hold for a model alone, and what a model thought goes to that model alone.
MODELS: dict[str, tuple[str | None, ...]] = {
    "openai": (None, "gpt-5", "gpt-4o"),
    "openai-responses": (None, "gpt-5", "gpt-5-mini"),
    "anthropic": (None, "claude-sonnet-5", "claude-3-7-sonnet-latest"),
    "gemini": (None, "gemini-3-pro", "gemini-2.5-flash"),
    "bedrock": (None, "anthropic.claude-sonnet-4-5", "amazon.nova-pro"),
    "mistral": (None, "mistral-large-latest", "open-mixtral-8x22b"),
    "vertex": (None, "gemini-3-pro", "gemini-2.5-flash"),
    "cohere": (None, "command-a-03-2025"),
    "ollama": ("gpt-oss:120b-cloud",),  # elsewhere it refuses nothing, and is sent what is stored
}


@tool
def weather(city: str, days: int) -> str:
    """The weather."""
    return f"{city} {days}"


@tool
def note(text: str) -> str:
    """Keep a note."""
    return text


@tool
def measure(value: float, unit: str) -> str:
    """Measure."""
    return f"{value} {unit}"


TOOLS = Registry([weather, note, measure])
BOUND = {provider: TOOLS.bind(provider) for provider in TARGETS}


def draw(random: Random) -> dict[str, Any]:
    """A request of A, and whom it goes to."""
    a, b, c = random.choice(PROVIDERS), random.choice(TARGETS), random.choice(TARGETS)
    models = [random.choice(MODELS[provider]) for provider in (a, b)]
    return {"from": a, "to": b, "then": c, "models": models, "request": draw_history(random, a)}


def check(case: dict[str, Any]) -> str | None:
    """The first difference, as a sentence."""
    a, b, c = case["from"], case["to"], case["then"]
    stored = with_bytes(case["request"])
    model, asked = case.get("models", (None, None))
    conversation = Conversation(TOOLS)
    conversation.read(stored, a, model=model)
    request = conversation.request(b, model=asked)
    return (
        _repaired(a, stored, model)
        or _carried(a, stored, b, request, conversation.repairs, asked)
        or _restored(conversation, _living(a, stored, b, case), b, request, asked)
        or _went_on(b, request, c, asked)
    )


def _went_on(b: str, request: dict[str, Any], c: str, asked: str | None) -> str | None:
    """What B was sent goes back to B as it is, and on to C."""
    conversation = Conversation(TOOLS)
    conversation.read(request, b, model=asked)
    again = conversation.request(b, model=asked)
    if again != request:
        return f"{b} to itself: {_first_difference(request, again)}; repairs {_rules(conversation.repairs)}"
    if conversation.repairs:
        return f"{b} to itself: a clean request is repaired: {_rules(conversation.repairs)}"
    return _carried(b, request, c, conversation.request(c), conversation.repairs)


def _first_difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    for key in {**one, **other}:
        first, second = one.get(key), other.get(key)
        if first == second:
            continue
        if isinstance(first, list) and isinstance(second, list):
            at = next(
                (at for at, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), None
            )
            if at is not None:
                return f"{key}[{at}] was {str(first[at])[:400]}, is {str(second[at])[:400]}"
            return f"{key} had {len(first)} entries, has {len(second)}"
        return f"{key} was {str(first)[:400]}, is {str(second)[:400]}"
    return "no difference"


def _rules(found: Iterable[Any]) -> list[str]:
    return [f"{repair.rule} at {repair.path}" for repair in found]


def _living(a: str, stored: dict[str, Any], b: str, case: dict[str, Any]) -> Conversation:
    """The same conversation, read message by message, a request made after each."""
    key = KEYS[a]
    model, asked = case.get("models", (None, None))
    conversation = Conversation(TOOLS)
    for at, message in enumerate(stored[key]):
        conversation.read({**stored, key: [message]} if at == 0 else [message], a, model=model)
        with suppress(HistoryError):  # calls wait for their results
            conversation.request(b, model=asked)
    return conversation


def _restored(
    whole: Conversation, living: Conversation, b: str, request: dict[str, Any], asked: str | None
) -> str | None:
    """One conversation makes one request: read at once, message by message, or restored from JSON."""
    restored = Conversation.from_json(whole.to_json(), TOOLS)
    for what, other in (("restored from JSON", restored), ("asked after every message", living)):
        again = other.request(b, model=asked)
        if again != request:
            return f"{what}, {b} is sent something else: {_first_difference(request, again)}"
        if _rules(other.repairs) != _rules(whole.repairs):
            return f"{what}, {b} has other repairs: {_rules(other.repairs)} and {_rules(whole.repairs)}"
    return None


def _repaired(a: str, stored: dict[str, Any], model: str | None) -> str | None:
    """Repair leaves nothing that its own check finds, and nothing to repair."""
    messages = stored[KEYS[a]]
    if not BOUND[a].check_messages(messages, model=model):
        conversation = Conversation(TOOLS)
        conversation.read(stored, a, model=model)
        if (sent := conversation.request(a, model=model)[KEYS[a]]) != messages:
            return f"{a} to itself, where nothing is found: {_first_difference({'': messages}, {'': sent})}"
    repaired = BOUND[a].repair_messages(messages, model=model)
    findings = BOUND[a].check_messages(repaired.messages, model=model)
    left = [finding for finding in findings if finding.rule not in OPEN]
    if left:
        return f"{a}: what was repaired is not clean: {_rules(left)}"
    if BOUND[a].repair_messages(repaired.messages, model=model).messages != repaired.messages:
        return f"{a}: repair is not idempotent"
    return _refused(a, {KEYS[a]: repaired.messages}, "repaired")


def _refused(provider: str, request: dict[str, Any], what: str) -> str | None:
    """What the judges of a provider say against a request."""
    sent = {
        key: value
        for key, value in request.items()
        if key not in ("tools", "model", "modelId", "config")
    }
    try:
        if provider == "mistral" and any(_has_new_chunks(message) for message in sent["messages"]):
            judges.JUDGES["mistral"](sent)
            sent = {"messages": list(map(_without_new_chunks, sent["messages"]))}
        judges.judged(provider, sent)
    except Exception as error:
        return f"{provider}, {what}: refused by {type(error).__module__}: {str(error)[:600]}"
    return None


def _has_new_chunks(message: dict[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(piece["type"] in NEW_CHUNKS for piece in content)


def _without_new_chunks(message: dict[str, Any]) -> dict[str, Any]:
    if not _has_new_chunks(message):
        return message
    rest = [piece for piece in message["content"] if piece["type"] not in NEW_CHUNKS]
    return {**message, "content": rest or "text"}


def _carried(
    a: str,
    stored: dict[str, Any],
    b: str,
    request: dict[str, Any],
    repairs: Sequence[Any],
    asked: str | None = None,
) -> str | None:
    """What A's messages said is found in B's request, or named by a repair."""
    if refused := _refused(b, request, f"from {a}"):
        return refused
    if findings := BOUND[b].check_messages(request, model=asked):
        return f"{a} to {b}: the request is not clean: {_rules(findings)}"
    said, sent = facts_of(a, stored), facts_of(b, request)
    difference = (
        _ids_are_taken(b, sent)
        or _all_is_answered(sent)
        or _texts(said, sent, repairs)
        or _nothing_is_added(said, sent, repairs)
        or _media(said, sent, repairs)
        or _calls(a, said, b, sent, repairs)
        or _the_rest(said, sent, request, repairs)
    )
    return None if difference is None else f"{a} to {b}: {difference}; repairs {_rules(repairs)}"


def _is_named(fact: Fact, repairs: Sequence[Any], rules: Iterable[str]) -> bool:
    """Whether a repair names a fact: at its place, or at its whole message."""
    return any(
        repair.rule in rules
        and (fact.path == repair.path or fact.path.startswith(f"{repair.path}."))
        for repair in repairs
    )


def _ids_are_taken(b: str, sent: list[Fact]) -> str | None:
    ids = [
        fact.call_id
        for fact in sent
        if fact.kind == "call" and not fact.path.endswith(".function_call")
    ]
    for call_id in ids:
        if not re.fullmatch(IDS.get(b, ".*"), call_id):
            return f"the id {call_id!r} is of a form that is refused"
    if b in ("anthropic", "bedrock") and len(set(ids)) != len(ids):
        return f"two calls have one id: {ids}"
    return None


def _pairs(facts: list[Fact]) -> list[tuple[Fact, Fact | None]]:
    """Each call with its result: of the calls that wait, the first of the last turn with that id, or that name."""
    found: list[list[Any]] = []
    turn, speaker = 0, ""
    for fact in facts:
        turn += fact.role == "assistant" != speaker
        speaker = fact.role
        if fact.kind == "call":
            found.append([fact, None, turn])
        elif fact.kind == "result":
            waiting = [pair for pair in found if pair[1] is None and _answers(fact, pair[0])]
            last = (
                found if not fact.call_id else waiting
            )  # without an id only the last turn's calls can be meant
            is_known = any(pair[0].call_id == fact.call_id for pair in found)
            # A result may have an id where its call has none.
            if not waiting and fact.call_id and not is_known:
                waiting = last = [
                    pair
                    for pair in found
                    if pair[1] is None and not pair[0].call_id and pair[2] == turn
                ]
            first = next((pair for pair in waiting if pair[2] == last[-1][2]), None)
            if first is not None:
                first[1] = fact
    return [(call, result) for call, result, _ in found]


def _answers(result: Fact, call: Fact) -> bool:
    return result.call_id == call.call_id and (bool(call.call_id) or result.name in ("", call.name))


def _all_is_answered(sent: list[Fact]) -> str | None:
    pairs = _pairs(sent)
    for call, result in pairs:
        if result is None:
            return f"the call {call.call_id!r} at {call.path} has no result"
    count = sum(fact.kind == "result" for fact in sent)
    return None if count == len(pairs) else f"{len(pairs)} calls have {count} results"


def _texts(said: list[Fact], sent: list[Fact], repairs: Sequence[Any]) -> str | None:
    """Each text is found, in its role and in its order."""
    last = (-1, -1)
    is_reordered = any(repair.rule in REORDERED for repair in repairs)
    for fact in said:
        if fact.kind != "text":
            continue
        if not fact.value.strip():
            continue
        places = [
            (at, other.value.find(fact.value), other.role)
            for at, other in enumerate(sent)
            if other.kind == "text" and fact.value in other.value
        ]
        if not places:
            return f"the text {fact.value[:80]!r} at {fact.path} is lost"
        if len(places) > 1 and _is_unique(fact.value):
            return f"the text {fact.value[:80]!r} at {fact.path} is sent {len(places)} times"
        at, position, role = places[0]
        if role != fact.role and not _is_named(fact, repairs, {"system_between"}):
            return f"the text {fact.value[:80]!r} of the {fact.role} is the {role}'s"
        if fact.role != "system" and _is_unique(fact.value):
            if (at, position) < last and not is_reordered:
                return f"the text {fact.value[:80]!r} at {fact.path} stands before what was said earlier"
            last = (at, position)
    return None


def _is_unique(text: str) -> bool:
    """Whether a text was drawn so that no other holds it."""
    return re.search(r" #\d+;$", text) is not None


def _nothing_is_added(said: list[Fact], sent: list[Fact], repairs: Sequence[Any]) -> str | None:
    """A text that nobody said is a repair's, or says where an image is from."""
    beside = [value for fact in said for value in fact.beside.values() if isinstance(value, str)]
    texts = [*(fact.value for fact in said if fact.kind == "text" and fact.value), *beside]
    texts.sort(key=len, reverse=True)
    for fact in sent:
        rest = (
            fact.value
            if fact.kind == "text" and not fact.value.startswith("From the result of ")
            else ""
        )
        for text in texts:
            rest = rest.replace(text, "")
        if rest.strip() and not any(repair.rule in SPEAKING for repair in repairs):
            return f"nobody said {rest.strip()[:80]!r} at {fact.path}"
    return None


def _all_media(facts: list[Fact]) -> list[Fact]:
    pieces = [piece for fact in facts for piece in fact.pieces]
    return [fact for fact in (*facts, *pieces) if fact.kind == "media"]


def _media(said: list[Fact], sent: list[Fact], repairs: Sequence[Any]) -> str | None:
    """Each image, file and sound is found as what it is, or named."""
    there = _all_media(sent)
    for fact in said:
        for medium in (
            [fact]
            if fact.kind == "media"
            else [piece for piece in fact.pieces if piece.kind == "media"]
        ):
            found = [other for other in there if _is_one(medium.value, other.value)]
            wrong = next((other.name for other in found if not _fits(medium, other.name)), None)
            if wrong is not None:
                return f"the medium {str(medium.value)[:80]} at {fact.path} is sent as {wrong}"
            if found or _is_named(
                fact, repairs, {"media_as_text", "media_in_result", "foreign_part"}
            ):
                continue
            if fact.kind == "result" and _is_named(
                fact, repairs, {"orphan_result", "duplicate_result"}
            ):
                continue
            return f"the medium {str(medium.value)[:80]} at {fact.path} is lost, or another"
    return None


def _is_one(medium: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two media are one: the same URL, or the same bytes of one type; Anthropic has all texts as plain ones."""
    if "url" in medium or "url" in other:
        return medium.get("url") == other.get("url")
    if "image/*" in (
        medium["type"],
        other["type"],
    ):  # Ollama's, whose bytes alone say what they are
        kind = "image/png" if medium["data"].startswith(b"\x89PNG") else "image/jpeg"
        return medium["data"] == other["data"] and {medium["type"], other["type"]} <= {
            "image/*",
            kind,
        }
    is_plain = medium["type"].startswith("text/") and other["type"] == "text/plain"
    return medium["data"] == other["data"] and (medium["type"] == other["type"] or is_plain)


def _fits(medium: Fact, place: str) -> bool:
    """Whether a medium may be sent as an image, a file or a sound; there is no place for video but Gemini's."""
    kind = medium.value.get("type", "").partition("/")[0] or medium.name
    return (
        not place
        or not kind
        or place == {"image": "image", "audio": "audio", "video": "none"}.get(kind, "file")
    )


def _calls(
    a: str, said: list[Fact], b: str, sent: list[Fact], repairs: Sequence[Any]
) -> str | None:
    """Each call is found with its arguments, and with its result; a result without a call is named."""
    there = _pairs(sent)
    pairs = _pairs(said)
    for call, result in pairs:
        found = [pair for pair in there if _is_said_in(call.value, pair[0].value)]
        if len(found) != 1:
            return f"the call of {call.name} at {call.path} with {str(call.value)[:120]} is found {len(found)} times"
        [(other, answer)] = found
        if other.name != call.name and not _is_named(call, repairs, {"tool_name", "unknown_tool"}):
            return f"the call of {call.name} is one of {other.name}"
        if result is None:
            if not _is_named(call, repairs, {"unanswered_call"}):
                return f"the call at {call.path} has no result, which nothing names"
        elif (difference := _result(a, result, b, answer)) and not _is_named(
            result, repairs, {"empty_error"}
        ):
            return f"the result at {result.path}: {difference}"
    paired = {id(result) for _, result in pairs}
    for fact in said:
        rules = {"orphan_result", "duplicate_result"}
        if fact.kind == "result" and id(fact) not in paired and not _is_named(fact, repairs, rules):
            return f"the result at {fact.path} answers no call, which nothing names"
    return None


def _is_said_in(arguments: Any, sent: Any) -> bool:
    """Whether arguments were sent: the same value, or, where they are a text that is no JSON object, in an object."""
    if isinstance(arguments, str) and isinstance(sent, dict):
        return arguments in sent.values()
    return _same(arguments, sent)


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, where true is no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _meant(provider: str, result: Fact) -> tuple[list[Any], bool]:
    """The texts and values of a result, and whether it is an error: a mark in the text where there is no flag."""
    values = [piece.value for piece in result.pieces if piece.kind in ("text", "json")]
    if provider in MARKED and values and isinstance(values[0], str):
        if mark := re.match(r"Error \[[a-z_]+\]: ", values[0]):
            return [values[0][mark.end() :], *values[1:]], True
        if re.match(r" +Error \[[a-z_]+\]: ", values[0]):
            return [values[0][1:], *values[1:]], False
    return values, result.is_error


def _result(a: str, result: Fact, b: str, answer: Fact | None) -> str | None:
    """A text is the same text, a value the same value, an error an error."""
    if answer is None:
        return "it is lost"
    (values, is_error), (sent, still_error) = _meant(a, result), _meant(b, answer)
    if is_error != still_error:
        return f"it was {'an' if is_error else 'no'} error"
    has_media = any(piece.kind not in ("text", "json") for piece in result.pieces)
    if len(values) == 1 and not has_media:
        return _only_value(values[0], sent)
    text = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in sent)
    for value in values:
        if isinstance(value, str) and value.strip() and value not in text:
            return f"the text {value[:80]!r} is lost in {text[:200]!r}"
        if not isinstance(value, str) and not any(_is_value(value, other) for other in sent):
            return f"the value {value} is lost in {text[:200]!r}"
    return None


def _only_value(value: Any, sent: list[Any]) -> str | None:
    if (
        isinstance(value, str) and not value.strip()
    ):  # for which some take a space, and some nothing
        return (
            None
            if all(isinstance(other, str) and not other.strip() for other in sent)
            else f"{value!r} is {sent}"
        )
    if len(sent) != 1:
        return f"one value {str(value)[:80]!r} is {len(sent)}: {str(sent)[:200]}"
    if isinstance(value, str):
        return (
            None
            if sent[0] == value and isinstance(sent[0], str)
            else f"the text {value[:80]!r} is {sent[0]!r}"
        )
    return None if _is_value(value, sent[0]) else f"the value {value} is {sent[0]!r}"


def _is_value(value: Any, other: Any) -> bool:
    """Whether a value was sent as it is, or as its JSON text."""
    if _same(value, other):
        return True
    with suppress(ValueError):
        return isinstance(other, str) and _same(value, json.loads(other))
    return False


def _the_rest(
    said: list[Fact], sent: list[Fact], request: dict[str, Any], repairs: Sequence[Any]
) -> str | None:
    """Reasoning, what only the provider knows, and what stands beside: it is there, or named."""
    wire = json.dumps(request, default=str)
    texts = [fact.value for fact in sent if fact.kind == "text"]
    thoughts = [fact.value for fact in sent if fact.kind == "reasoning"]
    for fact in said:
        if (
            fact.kind == "reasoning"
            and fact.value not in thoughts
            and not _is_named(fact, repairs, REASONING)
        ):
            return f"the reasoning at {fact.path} is left out, which nothing names"
        if (
            fact.kind == "reasoning"
            and fact.value.strip()
            and any(fact.value in text for text in texts)
        ):
            return f"the reasoning at {fact.path} became a text"
        is_here = fact.kind == "own" and json.dumps(fact.value, default=str) in wire
        if (
            fact.kind == "own"
            and not is_here
            and not _is_named(fact, repairs, {"foreign_part", "media_as_text"})
        ):
            return f"{str(fact.value)[:120]} at {fact.path} is left out, which nothing names"
        for key, value in fact.beside.items():
            is_here = json.dumps(value, default=str) in wire
            is_item = _is_named(
                fact, repairs, {"foreign_part"}
            )  # of Responses: the part may be named by its item
            if (
                not is_here
                and not is_item
                and not any(fact.path == repair.path for repair in repairs)
            ):
                return f"{key!r} beside {fact.path} is left out, which nothing names"
    return None


def test_what_was_found_once():
    """The cases that failed once."""
    check_kept(LANE, check)


@in_blocks
def test_histories(block):
    """Histories carried from A to B to C."""
    check_drawn(LANE, block, draw, check)
