"""The engines that constrain decoding, each as a function that compiles a schema to a matcher of whole texts.

No model is needed: a matcher is walked over a text, byte by byte or character by character, as a decoder walks it over
what a model writes. Each is called as the servers call it that use it, with their defaults (vLLM's and SGLang's
sources and the engines' documentation, read 2026-11-28).
"""

import json
import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Matcher: TypeAlias = Callable[[str], bool]
"""Whether an engine lets a whole text through; raises what the engine raises on its way."""
Compile: TypeAlias = Callable[[Any], Matcher]
"""Makes a matcher of a schema; raises what the engine raises when it refuses the schema."""


def llguidance() -> Compile:
    """The engine behind ``guidance``: vLLM's and SGLang's second choice, and llama.cpp's if it is built with it."""
    from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

    class Bytes:
        eos_token_id = 256
        bos_token_id = None
        tokens = (*(bytes([value]) for value in range(256)), b"<end>")
        special_token_ids = (256,)

        def __call__(self, text: bytes) -> list[int]:
            return list(text)

    tokenizer = LLTokenizer(TokenizerWrapper(Bytes()))

    def compile_schema(schema: Any) -> Matcher:
        text = json.dumps(schema)
        grammar = LLMatcher.grammar_from_json_schema(text, defaults={"whitespace_flexible": True})
        if error := LLMatcher.validate_grammar(grammar, tokenizer):
            raise ValueError(error)

        def accepts(text: str) -> bool:
            matcher = LLMatcher(
                tokenizer, grammar, log_level=0
            )  # a copy would share a failed lexer
            tokens = list(text.encode())
            if matcher.try_consume_tokens(tokens) == len(tokens):
                return bool(matcher.is_accepting())
            if matcher.is_error() and "Parser Error" not in matcher.get_error():
                raise ValueError(matcher.get_error())
            return False

        return accepts

    return compile_schema


def xgrammar() -> Compile:
    """The first choice of vLLM and SGLang, which leave any white space and the strict mode as they are."""
    from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo

    def compile_schema(schema: Any) -> Matcher:
        compiler = GrammarCompiler(TokenizerInfo([]), max_threads=1, cache_enabled=False)
        compiled = compiler.compile_json_schema(json.dumps(schema))
        matcher = GrammarMatcher(compiled, terminate_without_stop_token=True)

        def accepts(text: str) -> bool:
            matcher.reset()
            return bool(matcher.accept_string(text) and matcher.is_terminated())

        return accepts

    return compile_schema


def outlines_core() -> Compile:
    """The engine of text-generation-inference: a regex of the schema, matched by its own automaton."""
    from outlines_core import Index, Vocabulary
    from outlines_core.json_schema import build_regex_from_schema

    vocabulary = Vocabulary(256, {bytes([value]): [value] for value in range(256)})

    def compile_schema(schema: Any) -> Matcher:
        index = Index(build_regex_from_schema(json.dumps(schema)), vocabulary)

        def accepts(text: str) -> bool:
            state = index.get_initial_state()
            for byte in text.encode():
                following = index.get_next_state(state, byte)
                if following is None:
                    return False
                state = following
            return bool(index.is_final_state(state))

        return accepts

    return compile_schema


def lm_format_enforcer() -> Compile:
    """It reads a schema's inner parts only when an answer gets there, so what it refuses cuts an answer off."""
    from lmformatenforcer import CharacterLevelParserConfig, JsonSchemaParser

    signs = string.ascii_letters + string.digits + string.punctuation + " éÉ٣٤😀"

    def compile_schema(schema: Any) -> Matcher:
        start = JsonSchemaParser(schema, CharacterLevelParserConfig(alphabet=signs))

        def accepts(text: str) -> bool:
            parser: Any = start
            for character in text:
                if character not in parser.get_allowed_characters():
                    return False
                parser = parser.add_character(character)
            return bool(parser.can_end())

        return accepts

    return compile_schema


ENGINES: Mapping[str, tuple[str, Callable[[], Compile]]] = {
    "llguidance": ("llguidance", llguidance),
    "outlines-core": ("outlines_core", outlines_core),
    "lm-format-enforcer": ("lmformatenforcer", lm_format_enforcer),
    "xgrammar": ("xgrammar", xgrammar),
}
"""The engines by the names of their packages, each with the module that it installs."""
