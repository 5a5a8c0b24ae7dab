"""Grammars for text formats under llguidance: they admit what we write, and what they admit is read."""

import random
from typing import Any

import llguidance
import pytest
from zoo import CASES

from toolshape import Registry, UsageError, text, tool
from toolshape._bound.bound import bound_tools_of

TOKENS = llguidance.LLTokenizer("byte")
FORMATS = [text_format.name for text_format in text.formats()]


@tool
def refund(order: str, amount: int, express: bool = False, tags: list[str] | None = None) -> str:
    """Refund an order."""
    return "ok"


@tool
def now() -> str:
    """Return the time."""
    return "ok"


REGISTRY = Registry([refund, now])
ONE = [("refund", {"order": "a <b> 5", "amount": 500, "express": True, "tags": ["x"]})]
TWO = [*ONE, ("now", {})]


def matcher_of(grammar: str) -> Any:
    made = llguidance.LLMatcher.grammar_from_lark(grammar)
    assert not llguidance.LLMatcher.validate_grammar(made, TOKENS)
    return llguidance.LLMatcher(TOKENS, made)


def admits(grammar: str, said: str) -> bool:
    matcher, tokens = matcher_of(grammar), TOKENS.tokenize_str(said)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def schemas_of(bound: Any) -> dict[str, Any]:
    return {name: shape.schema for name, shape in bound_tools_of(bound).shapes.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_what_we_write_is_admitted(name: str):
    """One call, several, text before, or none; forced, only calls, and of one tool only that."""
    bound = REGISTRY.bind(f"text:{name}")
    one, two = text.write(name, ONE, schemas_of(bound)), text.write(name, TWO, schemas_of(bound))
    free = bound.grammar("lark")
    assert all(admits(free, said) for said in (one, two, f"Hello. {one}", "a < b, and no call"))
    forced = bound.grammar("lark", choice="required")
    assert [admits(forced, said) for said in (one, two, f"Hello. {one}", "no call")] == [
        True,
        True,
        False,
        False,
    ]
    alone = bound.grammar("lark", choice="required", parallel=False)
    assert [admits(alone, said) for said in (one, two)] == [True, False]
    chosen = bound.grammar("lark", choice="now")
    assert not admits(chosen, one)
    assert admits(chosen, text.write(name, [("now", {})]))


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_argument_is_not_admitted(name: str):
    """The schema of the tool is part of the grammar."""
    bound = REGISTRY.bind(f"text:{name}")
    said = text.write(name, ONE, schemas_of(bound))
    assert not admits(bound.grammar("lark", choice="required"), said.replace("500", "fifty"))


@pytest.mark.parametrize("name", FORMATS)
def test_what_it_admits_is_read(name: str):
    """Texts drawn from the grammar, byte by byte: each is calls, whose arguments fit."""
    bound = REGISTRY.bind(f"text:{name}")
    grammar, read = bound.grammar("lark", choice="required", parallel=False), 0
    for seed in range(3):
        said = drawn(
            grammar,
            random.Random(seed),
            next(item for item in text.formats() if item.name == name).layout.parameter,
        )
        if said is None:
            continue
        results = bound.dispatch(said)
        assert len(results) == 1, said
        assert results[0].error is None, (said, results[0].text)
        read += 1
    assert read


def drawn(grammar: str, chance: random.Random, parameter: str) -> str | None:
    """A random text of a grammar; closing characters and tags are drawn more often, so that texts end."""
    matcher, said = matcher_of(grammar), bytearray()
    closing_tag = TOKENS.tokenize_str(parameter.partition("{value}")[2])
    for _ in range(3000):
        if matcher.is_accepting():
            return said.decode(errors="strict") if _is_text(said) else None
        if (
            closing_tag
            and chance.random() < 0.1
            and matcher.validate_tokens(closing_tag) == len(closing_tag)
        ):
            assert matcher.consume_tokens(closing_tag)
            said += bytes(closing_tag)
            continue
        mask = matcher.compute_bitmask()
        allowed = [token for token in range(32, 127) if mask[token // 8] >> (token % 8) & 1]
        allowed = allowed or [token for token in range(256) if mask[token // 8] >> (token % 8) & 1]
        if not allowed:
            return None
        closing = [token for token in allowed if chr(token) in '"}]</>:,' or chr(token).isdigit()]
        token = chance.choice(closing if closing and chance.random() < 0.7 else allowed)
        assert matcher.consume_token(token)
        said.append(token)
    return None


def _is_text(said: bytearray) -> bool:
    try:
        said.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_grammars_admit_the_calls_of_the_zoo(name: str, case: Any):
    """Of each function, lenient and strict: a call is admitted if the format can hold it."""
    registry = Registry([tool(case.function)])
    for strict in (False, True):
        bound = registry.bind(f"text:{name}", strict=strict)
        ((wire_name, shape),) = bound_tools_of(bound).shapes.items()
        try:
            grammar = bound.grammar("lark", choice="required")
            arguments = shape.out(case.arguments) if shape.out else case.arguments
            written = text.write(name, [(wire_name, arguments)], schemas_of(bound))
        except UsageError:
            continue
        assert admits(grammar, written), (written, grammar)


@tool
def column(nullable: bool, label: str | None, default: dict[str, bool]) -> str:
    """Add a column."""
    return "ok"


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "pythonic", "gemma4", "minimax_m3"])
def test_a_parameter_called_as_a_keyword_of_schemas(name: str):
    """Null is admitted where the schema says so, and a field of that name stays a field."""
    bound = Registry([column]).bind(f"text:{name}")
    grammar = bound.grammar("lark", choice="required")
    for nullable, label in ((True, None), (False, "x")):
        arguments = {"nullable": nullable, "label": label, "default": {"nullable": True}}
        assert admits(grammar, text.write(name, [("column", arguments)], schemas_of(bound)))
    said = text.write(
        name, [("column", {"nullable": True, "label": "x", "default": {}})], schemas_of(bound)
    )
    assert admits(grammar, said)
    assert not admits(grammar, said.replace("true", "null").replace("True", "None"))
