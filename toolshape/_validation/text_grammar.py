"""Checks plain text against its tool's grammar, as most providers do not constrain it."""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from toolshape._records.calls import Finding, Grammar, JsonObject
from toolshape._records.errors import CallError, Problem, preview
from toolshape._records.shown import shorten
from toolshape._validation.coercion import is_installed
from toolshape._validation.settings import Validate, Validated

Fits: TypeAlias = Callable[[str], bool]
"""Takes a text; returns whether it fits a grammar."""


def compile_grammar(grammar: Grammar) -> Fits | None:
    """Return the check of texts, or ``None`` if no engine for the grammar is installed.

    The engines are those that the provider names: Rust's ``regex``, which pydantic holds, and
    llguidance for Lark (OpenAI's guide to function calling, "Context-free grammars", 2025-08).
    """
    if grammar.syntax == "regex":
        return functools.partial(_is_match, _pattern(grammar))
    if is_installed("llguidance"):
        return _compile_lark(grammar.definition)
    return None


def grammar_fault(grammar: Grammar) -> str:
    """Return what is wrong with a grammar; an empty string if nothing is, or if
    no engine is installed to tell.
    """
    if grammar.syntax == "regex":
        try:
            _pattern(grammar)
        except SchemaError as error:
            return f"the expression cannot be read: {error}"
        return ""
    if not is_installed("llguidance"):
        return ""
    return str(_lark_matcher(grammar.definition).get_error())


def unchecked_grammar(grammar: Grammar) -> tuple[Finding, ...]:
    """Return a finding if nothing that is installed can check the texts of a tool."""
    if grammar.syntax == "regex" or is_installed("llguidance"):
        return ()
    message = "the Lark grammar is not checked after a call: pip install 'toolshape[grammar]'"
    return (Finding(path="free_text", rule="grammar_not_checked", message=message),)


def checking_text(
    validate: Validate,
    fits: Fits,
    name: str,
    grammar: Grammar,
    text_of: Callable[[Any], JsonObject],
    *,
    is_secret: bool,
) -> Validate:
    """Return the validation of a tool of free text that also holds its text to a grammar.

    Args:
        validate: The validation of the arguments.
        fits: Whether a text fits the grammar.
        name: The name of the tool, as the model knows it.
        grammar: The grammar.
        text_of: Returns valid arguments as JSON data, secrets included.
        is_secret: Whether the text may be a secret, which the error must not show.
    """
    if grammar.syntax == "lark":
        kind = "Lark grammar"
    else:
        kind = "regular expression"

    def validate_text(arguments: Any) -> Validated:
        validated, coercions = validate(arguments)
        values = text_of(validated)
        for path, text in values.items():
            if isinstance(text, str) and not fits(text):
                expected = f"text that fits the {kind} {shorten(grammar.definition)}"
                got = "" if is_secret else preview(text)
                problem = Problem(path=path, rule="grammar", expected=expected, got=got)
                raise CallError(
                    "invalid_arguments",
                    tool=name,
                    problems=[problem],
                    arguments=None if is_secret else values,
                )
        return validated, coercions

    return validate_text


def _pattern(grammar: Grammar) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=rf"\A(?:{grammar.definition})\z"))


def _is_match(pattern: SchemaValidator, text: str) -> bool:
    try:
        pattern.validate_python(text)
    except ValidationError:
        return False
    return True


def _compile_lark(definition: str) -> Fits:
    @functools.lru_cache(maxsize=1)
    def matcher() -> Any:
        return _lark_matcher(definition)

    def fits(text: str) -> bool:
        match = matcher().deep_copy()
        tokens = list(text.encode(errors="replace"))
        return match.validate_tokens(tokens) == len(tokens) and _ends(match, tokens)

    return fits


def _ends(match: Any, tokens: list[int]) -> bool:
    """Whether a text is complete once its tokens are read; llguidance reports
    what it refuses only as an error.
    """
    return bool(match.try_consume_tokens(tokens) == len(tokens) and match.is_accepting())


def _lark_matcher(definition: str) -> Any:
    import llguidance  # noqa: PLC0415 - a program that has no Lark grammar needs no engine for it

    tokenizer = llguidance.LLTokenizer("byte")  # each byte is a token
    return llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(definition))
