"""The law of secrets: whatever leaves towards anything but the function, a secret is not in it.

Definitions and models are drawn with one secret at the end of a drawn way into them. Everything that leaves is searched for
it: requests for approval, results, reprs, logs, errors, tokens, stored texts, traces, spans.
"""

import json
import logging
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Union

from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, Field, Secret, SecretStr, create_model
from responses import response

from toolshape import Conversation, Deny, Registry, Tool, tool
from toolshape.ledger import Ledger
from toolshape.trace import record_to

MARK = "correct-horse-battery"
KEY = b"a key of thirty-two bytes, secret"
DAY = timedelta(days=1)
PLAIN = {"type": "string"}

# A way into a definition: what the schema becomes, and what the value becomes.
STEPS = {
    "properties": lambda s, v: ({"type": "object", "properties": {"in": s, "x": PLAIN}}, {"in": v}),
    "items": lambda s, v: ({"type": "array", "items": s}, [v]),
    "prefixItems": lambda s, v: ({"type": "array", "prefixItems": [PLAIN, s]}, ["x", v]),
    "additionalProperties": lambda s, v: ({"type": "object", "additionalProperties": s}, {"k": v}),
    "patternProperties": lambda s, v: (
        {"type": "object", "patternProperties": {"^k": s}},
        {"k": v},
    ),
    "anyOf": lambda s, v: ({"anyOf": [{"type": "null"}, s]}, v),
    "oneOf": lambda s, v: ({"oneOf": [{"type": "null"}, s]}, v),
    "allOf": lambda s, v: ({"allOf": [s, {}]}, v),
    "then": lambda s, v: ({"if": {}, "then": s}, v),
    "dependentSchemas": lambda s, v: (
        {"type": "object", "dependentSchemas": {"on": {"properties": {"in": s}}}},
        {"on": "x", "in": v},
    ),
    "contains": lambda s, v: ({"type": "array", "contains": s}, [v]),
}
LEAVES = {
    "writeOnly": ({"type": "string", "writeOnly": True}, MARK),
    "password": ({"type": "string", "format": "password"}, MARK),
    "object": ({"type": "object", "writeOnly": True}, {MARK: MARK}),
    "key": ({"type": "object", "propertyNames": {"writeOnly": True}}, {MARK: 1}),
}

Hidden = Annotated[str, Field(json_schema_extra={"writeOnly": True})]
KINDS = {
    "list": lambda kind, value: (list[kind], [value]),
    "map": lambda kind, value: (dict[str, kind], {"k": value}),
    "tuple": lambda kind, value: (tuple[int, kind], [1, value]),
    "optional": lambda kind, value: (Union[kind, None], value),
    "union": lambda kind, value: (Union[int, kind], value),
    "model": lambda kind, value: (create_model("Inner", given=(kind, ...)), {"given": value}),
    "root": lambda kind, value: (Annotated[kind, Field(description="Given.")], value),
}
SECRETS = {"SecretStr": SecretStr, "Secret": Secret[str], "writeOnly": Hidden}


def defined(leaf, steps):
    schema, value = LEAVES[leaf]
    for step in steps:
        schema, value = STEPS[step](schema, value)
    parameters = {"type": "object", "properties": {"given": schema}, "required": ["given"]}
    got = []
    entry = {"name": "takes", "description": "Take it.", "parameters": parameters}
    return (
        Tool.from_definition(entry, lambda given: got.append(given) or "taken", approve=True),
        value,
        got,
    )


def made(secret, steps):
    kind, value = SECRETS[secret], MARK
    for step in steps:
        kind, value = KINDS[step](kind, value)
    got = []

    @tool(approve=True)
    def takes(given: kind) -> str:
        """Take it."""
        got.append(given)
        return "taken"

    return takes, value, got


class Said(logging.Handler):
    """What was logged."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


def what_leaves(taker: Any, value: Any, folder: Path) -> list[str]:
    """Everything that a person, a store or a log gets of a call that waits, is stored, and is denied or runs."""
    tools, said = Registry([taker]), Said()
    logger = logging.getLogger("toolshape")
    logger.addHandler(said)
    tools.observe(record_to(folder / "trace.jsonl", keep="all"))
    calls = (
        ("takes", {"given": value}, "c1"),
        ("takes", {"given": [value]}, "c2"),
        ("taks", {"g": value}, "c3"),
    )
    with Ledger(folder / "calls.db") as ledger:
        chat = Conversation(tools)
        chat.user("Take it.")
        chat.dispatch(response(*calls), provider="openai")
        texts = [chat.to_json(), str(chat), repr(chat), *map(str, chat.pending)]
        for pending in chat.pending:
            texts += [repr(pending.arguments), repr(pending.coercions)]
        token = chat.pause(KEY, audience="a", expires=DAY, ledger=ledger)
        texts.append(token)
        decisions = {call.id: True if call.id == "c1" else Deny("no") for call in chat.pending}
        results = chat.resume(token, KEY, decisions, audience="a", ledger=ledger)
        for result in results:
            texts += [
                repr(result),
                repr(result.arguments),
                repr(result.coercions),
                repr(result.call),
            ]
        texts += [chat.to_json(), str(chat), str(results), results._repr_html_(), repr(tools)]
        later = Conversation(Registry([]), chat.messages)
        texts += [later.to_json(), str(later)]
    logger.removeHandler(said)
    return [*texts, *said.lines, (folder / "trace.jsonl").read_text(encoding="utf-8")]


def check(taker, value, got):
    with tempfile.TemporaryDirectory() as folder:
        for text in what_leaves(taker, value, Path(folder)):
            assert MARK not in text, text[:2000]
    assert got, "the function got nothing"
    if isinstance(got[0], BaseModel):
        return
    assert MARK in json.dumps(got[0], default=lambda inner: inner.get_secret_value()
                              if hasattr(inner, "get_secret_value") else inner.model_dump_json()
                              ) or isinstance(got[0], (SecretStr, Secret, list, dict, tuple))  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(LEAVES)), st.lists(st.sampled_from(sorted(STEPS)), max_size=4))
def test_of_a_definition(leaf, steps):
    taker, value, got = defined(leaf, steps)
    check(taker, value, got)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(SECRETS)), st.lists(st.sampled_from(sorted(KINDS)), max_size=3))
def test_of_a_function(secret, steps):
    taker, value, got = made(secret, steps)
    check(taker, value, got)
