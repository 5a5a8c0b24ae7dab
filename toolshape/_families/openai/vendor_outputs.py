"""How vendors of Chat Completions differ from OpenAI in taking a schema for the answer.

The sources were read on 2026-11-25. All vendors take ``response_format`` as OpenAI does. Servers
that compile each schema to a grammar constrain every answer, with or without the flag ``strict``.
They silently leave out constraints that their grammars cannot express, so toolshape sends them
every schema in the strict form.
"""

from dataclasses import replace

from toolshape._families.openai import engines, llama_cpp
from toolshape._families.openai.output import OUTPUT
from toolshape._families.openai.schema import STRICT, STRICT_KEYWORDS, STRICT_WITH_LENGTHS
from toolshape._families.wire.provider import NotBesideTools, SchemaRules
from toolshape._schema import checks as rules, constrained as structure, limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere

STRICT_BY_FLAG = SchemaRules(lenient=(structure.wrap_root_and_add_items,), strict=STRICT)
"""The rules for vendors that document no dialect: schemas have OpenAI's
strict form, which is the narrowest.

toolshape knows of no schema that these vendors refuse.
"""

OPENROUTER = replace(
    OUTPUT,
    schema=replace(
        STRICT_BY_FLAG,
        strict_needs=(
            'send provider={"require_parameters": True}: other endpoints of a model ignore the schema'
        ),
    ),
    evidence="OpenRouter's structured outputs documentation, 2026-11-25",
)
GROQ = replace(
    OUTPUT,
    schema=replace(
        STRICT_BY_FLAG,
        # Only openai/gpt-oss models have the strict form, and "auto" does not know the model. The
        # strict form has no bounds on arrays.
        is_strict_by_auto=False,
        strict=(*STRICT, everywhere(rewrites.say_instead("minItems", "maxItems"))),
        strict_needs="strict answers need an openai/gpt-oss model",
    ),
    not_beside_tools=NotBesideTools("agno-agi/agno#1065, 2024-07; vercel/ai#16540, 2026-07", ""),
    evidence="types of groq 1.7.0; Groq's structured outputs documentation, 2026-11-25",
)
TOGETHER = replace(
    OUTPUT,
    schema=STRICT_BY_FLAG,
    evidence="Together's structured outputs documentation; mozilla-ai/any-llm#1270, 2026-08",
)
FIREWORKS = replace(
    OUTPUT,
    schema=STRICT_BY_FLAG,
    is_always_strict=True,
    not_beside_tools=NotBesideTools("Fireworks' structured responses documentation, 2026", ""),
    evidence="Fireworks' structured responses documentation, 2026",
)
# xAI constrains every answer. A missing additionalProperties means false (xAI's documentation,
# 2026).
XAI = replace(
    OUTPUT,
    schema=STRICT_BY_FLAG,
    is_always_strict=True,
    evidence="xAI's structured outputs documentation, 2026",
)
# At Cerebras, the schema is only a hint without the flag ``strict``. With the flag, a schema may
# have at most 5,000 characters, and no recursion, patterns, formats or bounds on arrays.
_NOT_AT_CEREBRAS = ("pattern", "format", "minItems", "maxItems")
CEREBRAS = replace(
    OUTPUT,
    schema=SchemaRules(
        refuses_strict=cited(
            "Cerebras' structured outputs documentation, 2026-11-25",
            rules.closed,
            rules.all_required,
            rules.typed,
            rules.no_recursion,
            rules.known_keywords(
                *(key for key in STRICT_KEYWORDS if key not in _NOT_AT_CEREBRAS), "title", "default"
            ),
            limits.sizes(properties=500, levels=10, characters=5_000, choices=500),
        ),
        lenient=STRICT_BY_FLAG.lenient,
        strict=(
            structure.inline_references,
            *STRICT,
            everywhere(rewrites.say_instead(*_NOT_AT_CEREBRAS)),
            everywhere(rewrites.type_list_as_any_of),
        ),
    ),
    evidence="Cerebras' structured outputs documentation, 2026-11-25",
)
VLLM = replace(
    OUTPUT,
    schema=SchemaRules(
        refuses_strict=cited(engines.XGRAMMAR, engines.patterns_of_xgrammar, is_refused=False),
        lenient=(*STRICT, *engines.KEPT_BY_XGRAMMAR),
        strict=(*STRICT, *engines.KEPT_BY_XGRAMMAR),
        engine=engines.XGRAMMAR,
    ),
    is_always_strict=True,
    not_beside_tools=NotBesideTools(
        "the constrained answer leaves no place for a call: vllm-project/vllm#39929, 2026-04", None
    ),
    evidence="vLLM's structured outputs documentation, 2026-11-25",
)
SGLANG = replace(VLLM, evidence="SGLang's structured outputs documentation, 2026-11-28")
HUGGINGFACE = replace(
    OUTPUT,
    schema=SchemaRules(
        lenient=(*engines.FOR_OUTLINES, *STRICT_WITH_LENGTHS, *engines.KEPT_BY_OUTLINES),
        strict=(*engines.FOR_OUTLINES, *STRICT_WITH_LENGTHS, *engines.KEPT_BY_OUTLINES),
        engine=engines.OUTLINES,
    ),
    is_always_strict=True,
    not_beside_tools=NotBesideTools(
        "tools and answers are both grammars: huggingface/text-generation-inference#2046, 2024-06",
        None,
    ),
)
GRAMMAR_RULES = SchemaRules(
    refuses_strict=cited(
        "ggml-org/llama.cpp#19051 and ollama/ollama#8063, 2026",
        rules.typed,
        rules.closed,
        is_refused=False,
    ),
    lenient=(*STRICT_WITH_LENGTHS, *llama_cpp.KEPT_BY_GRAMMARS),
    strict=(*STRICT_WITH_LENGTHS, *llama_cpp.KEPT_BY_GRAMMARS),
    engine=llama_cpp.EVIDENCE,
)
"""The form for servers with llama.cpp's grammars: what these keep is
sent, and the rest is described.
"""
LLAMA_CPP = replace(
    OUTPUT,
    schema=GRAMMAR_RULES,
    is_always_strict=True,
    not_beside_tools=NotBesideTools(
        "the grammar of the answer leaves no place for a call: llama.cpp's documentation, "
        "2026-11-25",
        None,
    ),
    evidence="the server's documentation of response_format, 2026-11-25",
)
LM_STUDIO = replace(
    LLAMA_CPP,
    # Only Chat Completions take the schema, not Responses: lmstudio-ai/lmstudio-bug-tracker#2403,
    # 2026-09.
    evidence="LM Studio's structured output documentation, 2026-11-28",
)
