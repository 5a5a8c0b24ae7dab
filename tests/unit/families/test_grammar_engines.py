"""Which patterns and lengths are sent to servers that constrain what the model writes."""

import re
from typing import Annotated, Any

import pytest
from pydantic import Field

from toolshape import Output, Registry, tool
from toolshape._schema.patterns import steps_of_json_signs

SIGNS = [chr(code) for code in (*range(0x20), ord('"'), ord("\\"))]


@pytest.mark.parametrize(
    "step",
    [
        "a", '"', r"\\", '["a]', "[^a]", "[ -~]", "[^ -~]", ".", r"\s", r"\S", r"\w", r"\W", r"\d", r"\D",
        r'[\d"]', r'[^\W"]', r'[^"\\\x00-\x1f]', '[^"]', r"\t", "[#-\\[]", "(?:a|b)", '(?:a|")', "(?:ab)+",
    ],
)  # fmt: skip
def test_a_step_that_a_json_sign_fits_is_found(step: str) -> None:
    """Judged by Python's own engine, on each of these characters."""
    is_fitting = any(re.fullmatch(step, sign) for sign in SIGNS)
    assert bool(steps_of_json_signs(f"^{step}$")) == is_fitting


def test_signs_are_found_in_longer_texts() -> None:
    assert steps_of_json_signs('^a"b$') == {"LITERAL"}
    assert steps_of_json_signs('^(?:x[!-~]{2}|"y)$') == {"LITERAL", "IN"}
    assert steps_of_json_signs("^[a-z]+-[0-9]{2,3}$") == frozenset()


def sent_field(annotation: Any, provider: str) -> dict[str, Any]:
    """The schema of the value in an answer, as it is sent."""
    request = Output(annotation, name="answer").bind(provider).request()
    text = request["format"] if provider == "ollama" else None
    schema = text or request["response_format"]["json_schema"]["schema"]
    field: dict[str, Any] = schema["properties"]["value"]
    return field


@pytest.mark.parametrize(
    ("pattern", "kept_by"),
    [
        ("^[a-z]{2}$", {"llama-cpp", "ollama", "vllm", "huggingface"}),
        ("^.{1,6}$", {"vllm"}),
        ("^[ -~]{1,6}$", {"vllm"}),
        ('^a"b$', set[str]()),
    ],
)
def test_a_pattern_that_a_quote_fits_is_sent_where_json_stays_whole(
    pattern: str, kept_by: set[str]
) -> None:
    """Measured at the engines and a real server: docs/engines.md."""
    annotation = Annotated[str, Field(pattern=pattern)]
    for provider in ("llama-cpp", "ollama", "vllm", "huggingface"):
        field = sent_field(annotation, provider)
        assert (field.get("pattern") == pattern) == (provider in kept_by), provider
        assert provider in kept_by or pattern in field["description"].replace("\\", "")


def test_a_tool_with_such_a_pattern_is_sent_without_it() -> None:
    @tool
    def find(word: Annotated[str, Field(pattern='^"[^"]*"$')]) -> str:
        """Find a word."""
        return word

    [entry] = Registry([find]).export("llama-cpp")
    assert "pattern" not in entry["function"]["parameters"]["properties"]["word"]


@pytest.mark.parametrize("provider", ["llama-cpp", "ollama", "huggingface"])
def test_the_lengths_of_texts_are_sent_where_they_are_kept(provider: str) -> None:
    """Alone; beside a pattern or a format, engines look at that, and the lengths are described."""
    field = sent_field(Annotated[str, Field(min_length=2, max_length=8)], provider)
    assert (field["minLength"], field["maxLength"]) == (2, 8)
    field = sent_field(Annotated[str, Field(pattern="^[a-c]+$", max_length=8)], provider)
    assert "maxLength" not in field
    assert "maxLength: 8" in field["description"]


def test_lengths_that_would_narrow_texts_are_described() -> None:
    """Beside a length, xgrammar lets no quote and no new line into a text."""
    field = sent_field(Annotated[str, Field(max_length=8)], "vllm")
    assert "maxLength" not in field
    assert "maxLength: 8" in field["description"]
