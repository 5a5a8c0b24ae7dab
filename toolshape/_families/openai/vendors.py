"""Vendors of Chat Completions, and how they differ from OpenAI (read on 2026-11-20)."""

import re
from collections.abc import Iterator
from dataclasses import replace

from toolshape._families.openai import (
    OLDER,
    OPENAI,
    engines,
    llama_cpp,
    messages,
    probes,
    schema as openai_schema,
    split_turns,
    vendor_outputs as outputs,
)
from toolshape._families.openai.batches import OPENAI_BATCH, TOGETHER_BATCH
from toolshape._families.openai.server import (
    ENDPOINT,
    REQUEST_RULES,
    SERVER,
    VARIABLES,
    VENDOR_SERVER,
    WORDINGS,
)
from toolshape._families.wire.histories import JSON_TEXT, Histories, HistoryRule, history_rules
from toolshape._families.wire.provider import Budget, Choice, Limit, unsupported
from toolshape._families.wire.request_checks import (
    choice_has_tools,
    chosen_tools_exist,
    no_forced_call,
    required_fields,
    tools_not_empty,
    unique_names,
)
from toolshape._families.wire.server import (
    Endpoint,
    RequestFault,
    RequestRead,
    Wording,
    request_rules,
)
from toolshape._families.wire.server_json import KEY, as_object
from toolshape._records.calls import JsonObject
from toolshape._schema import checks as rules, constrained as structure, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.walk import everywhere

_FACTS = OPENAI.facts


def _endpoint_for_openai_sdk(**variables: str) -> Endpoint:
    """Return the endpoint of a vendor that users call through OpenAI's SDK;
    ``variables`` add the vendor's key.
    """
    return ENDPOINT._replace(variables={**VARIABLES, **variables})


def _endpoint_for_own_sdk(name: str, path: str = "") -> Endpoint:
    """Return the endpoint of a vendor that has a separate SDK, which uses httpx."""
    return ENDPOINT._replace(
        variables={f"{name}_BASE_URL": f"{{url}}{path}", f"{name}_API_KEY": KEY}, http="httpx"
    )


# The vendors' strict dialects are undocumented: "auto" stays lenient, and True rewrites as for
# OpenAI. The vendors do not support allowed_tools (types of groq 1.7.0, together 3.1.1,
# fireworks-ai 1.2.28, cerebras_cloud_sdk 1.91.0).
VENDOR = replace(
    OPENAI,
    schema=replace(OPENAI.schema, refuses_strict=(), is_strict_by_auto=False),
    request=replace(
        OPENAI.request,
        keywords=openai_schema.request_without_subsets,
        most_tools=None,
        free_text=None,
    ),
    histories=messages.VENDOR_HISTORIES,
    batch=None,
    server=VENDOR_SERVER,
)


def _histories(*rules: HistoryRule) -> Histories:
    return replace(messages.VENDOR_HISTORIES, rules=(*messages.VENDOR_HISTORIES.rules, *rules))


_NO_STRICT = replace(
    VENDOR, schema=replace(VENDOR.schema, strict=None), facts=_FACTS._replace(strict="none")
)


def azure_request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Return the tools and the choice.

    With strict tools, parallel calls must be off (Azure's page of 2025-01).
    """
    if choice.is_strict and choice.parallel is True:
        message = "Azure does not support parallel strict calls: use strict=False"
        raise unsupported(choice, "parallel", message, "Azure's page of 2025-01")
    return openai_schema.request(
        tools, choice._replace(parallel=False) if choice.is_strict else choice
    )


AZURE = replace(
    OLDER,
    name="azure",
    request=replace(OLDER.request, keywords=azure_request),
    server=replace(
        SERVER,
        address=None,
        endpoint=ENDPOINT._replace(
            variables={
                "AZURE_OPENAI_ENDPOINT": "{url}",
                "AZURE_OPENAI_API_KEY": KEY,
                "OPENAI_API_VERSION": "2024-10-21",
            }
        ),
        refuses=(
            *request_rules(
                "the URL of an Azure request holds the model", required_fields("messages")
            ),
            *REQUEST_RULES,
        ),
    ),
    facts=_FACTS._replace(
        needs="toolshape assumes the limits that Azure documented in 2025-01; "
        "parallel calls are off if tools are strict"
    ),
)

# Function calling guide, 2026: strings may have a pattern and some formats, but arrays may have no
# bounds. DeepSeek spells $defs differently, so toolshape inlines references.
DEEPSEEK_FORMATS = ("email", "hostname", "ipv4", "ipv6", "uuid")
DEEPSEEK_KEYWORDS = tuple(
    key
    for key in openai_schema.STRICT_KEYWORDS
    if key not in ("$ref", "$defs", "minItems", "maxItems")
)
_DEEPSEEK_THINKS = re.compile(r"deepseek-(?:v4|reasoner)")


def _deepseek_thinks(request: RequestRead) -> bool:
    is_off = as_object(request.body.get("thinking")).get("type") == "disabled"
    return not is_off and _DEEPSEEK_THINKS.match(str(request.body.get("model"))) is not None


def no_schema_of_answers(request: RequestRead) -> Iterator[RequestFault]:
    """Check that the request holds no schema for the answer."""
    if as_object(request.body.get("response_format")).get("type") == "json_schema":
        yield RequestFault(
            "response_format",
            "no_response_format",
            "this provider accepts no schema for the answer",
        )


DEEPSEEK = replace(
    VENDOR,
    name="deepseek",
    # DeepSeek refuses json_schema: "This response_format type is unavailable now" (inspect_ai#4916,
    # 2026-08).
    output=None,
    schema=replace(
        VENDOR.schema,
        refuses=cited("cc-switch#5490, 2026", rules.root_is_object),
        refuses_strict=cited(
            "DeepSeek's function calling guide, 2026",
            rules.closed,
            rules.all_required,
            rules.typed,
            rules.known_keywords(*DEEPSEEK_KEYWORDS, "default", "title"),
            rules.known_formats(*DEEPSEEK_FORMATS),
        ),
        strict=(
            structure.wrap_root,
            structure.inline_references,
            *openai_schema.OBJECTS,
            everywhere(rewrites.say_formats_but(*DEEPSEEK_FORMATS)),
            everywhere(rewrites.only_keywords(*DEEPSEEK_KEYWORDS)),
        ),
        # The strict dialect is documented, but "auto" cannot know the base URL, so "auto" also
        # stays lenient here.
        strict_needs='strict tools need base_url="https://api.deepseek.com/beta"',
        budget=Budget(is_shared=True, evidence="DeepSeek's function calling guide, 2026"),
    ),
    histories=_histories(
        *history_rules(
            "DeepSeek's thinking mode guide, 2026; earendil-works/pi#3636, 2026-04",
            "missing_reasoning",
            models=r"reasoner|v4",
            pattern="reasoning_content",
            always="reasoner",
        )
    ),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        models=("deepseek-v4-flash",),
        endpoint=_endpoint_for_openai_sdk(DEEPSEEK_API_KEY=KEY),
        refuses=(
            *request_rules("a recorded 400: tool names must be unique", unique_names),
            *request_rules("runebookai/tome#87, 2025-07", tools_not_empty),
            *request_rules(
                "a recorded 400 of deepseek-v4-flash, 2026", no_forced_call(_deepseek_thinks)
            ),
            *request_rules("UKGovernmentBEIS/inspect_ai#4916, 2026-08", no_schema_of_answers),
        ),
        wordings={
            "root_is_object": WORDINGS["root_is_object"],
            "unique_names": WORDINGS["unique_names"],
            "no_response_format": Wording(
                "This response_format type is unavailable now", code="invalid_request_error"
            ),
            "forced_while_thinking": Wording(
                "Thinking mode does not support this tool_choice", code="invalid_request_error"
            ),
        },
    ),
    facts=_FACTS._replace(
        strict="`function.strict` of every tool, on the beta base URL",
        needs="`reasoning_content` is replayed; in thinking mode no tool can be forced",
    ),
)

GROQ = replace(
    VENDOR,
    name="groq",
    batch=OPENAI_BATCH,
    output=outputs.GROQ,
    request=replace(VENDOR.request, most_tools=Limit(128, "types of groq 1.7.0")),
    histories=_histories(
        *history_rules(
            "SimonSchubert/Kai#265, 2026-05", "refused_reasoning", pattern="reasoning_content"
        )
    ),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        endpoint=_endpoint_for_own_sdk("GROQ"),
    ),
    facts=_FACTS._replace(
        # Ha-groq#20.
        malformed="no call: a 400 `tool_use_failed`, also for arguments that do not fit the schema",
        strict="`function.strict`, its dialect undocumented",
    ),
)
XAI = replace(
    VENDOR,
    name="xai",
    output=outputs.XAI,
    request=replace(VENDOR.request, most_tools=Limit(128, "xai-sdk 1.21.0")),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.x.ai/v1", "XAI_API_KEY"),
        endpoint=_endpoint_for_openai_sdk(XAI_API_KEY=KEY),
        refuses=request_rules("chenyme/grok2api#1042, 2026", choice_has_tools("tool_choice")),
    ),
    facts=_FACTS._replace(strict="`function.strict`, its dialect undocumented"),
)
# OpenRouter passes tools on to a model, which sets the limits and the dialect (OpenRouter's
# documentation, 2026).
OPENROUTER = replace(
    VENDOR,
    name="openrouter",
    output=outputs.OPENROUTER,
    # Source: "Video Inputs" in OpenRouter's documentation, read 2026-11-23.
    histories=messages.WITH_VIDEO,
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        endpoint=_endpoint_for_openai_sdk(OPENROUTER_API_KEY=KEY),
    ),
    facts=_FACTS._replace(
        strict="`function.strict`, if the model behind it has it",
        needs="`tools` in every request of the conversation; `reasoning_details` are replayed",
    ),
)
# The models' makers set the limits, and GitHub documents none for clients of other makers.
COPILOT = replace(
    _NO_STRICT,
    name="copilot",
    output=None,
    response=split_turns.RESPONSE,
    server=replace(
        VENDOR_SERVER,
        address=None,
        endpoint=_endpoint_for_openai_sdk(),
    ),
    facts=_NO_STRICT.facts._replace(
        needs="the choices of a response are read as one message: a turn is spread over them"
    ),
)
TOGETHER = replace(
    _NO_STRICT,
    name="together",
    batch=TOGETHER_BATCH,
    output=outputs.TOGETHER,
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        endpoint=_endpoint_for_own_sdk("TOGETHER", "/v1"),
    ),
)
FIREWORKS = replace(
    VENDOR,
    name="fireworks",
    output=outputs.FIREWORKS,
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat(
            "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"
        ),
        endpoint=_endpoint_for_own_sdk("FIREWORKS", "/v1"),
    ),
    facts=_FACTS._replace(strict="`function.strict`, its dialect undocumented"),
)
CEREBRAS = replace(
    VENDOR,
    name="cerebras",
    batch=OPENAI_BATCH,
    output=outputs.CEREBRAS,
    histories=_histories(
        *history_rules(
            "QwenLM/qwen-code#11045, 2026-09", "refused_reasoning", pattern="reasoning_content"
        )
    ),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        endpoint=_endpoint_for_own_sdk("CEREBRAS"),
    ),
    facts=_FACTS._replace(strict="`function.strict`, its dialect undocumented"),
)
VLLM = replace(
    VENDOR,
    name="vllm",
    schema=replace(
        VENDOR.schema,
        refuses=(
            *VENDOR.schema.refuses,
            *cited(engines.XGRAMMAR, engines.patterns_of_xgrammar, is_refused=False),
        ),
        lenient=(*VENDOR.schema.lenient, *engines.FOR_XGRAMMAR),
        strict=(*openai_schema.STRICT, *engines.KEPT_BY_XGRAMMAR),
        engine=engines.XGRAMMAR,
    ),
    output=outputs.VLLM,
    # Source: "Multimodal Inputs" in vLLM's documentation, read 2026-11-23.
    histories=messages.WITH_VIDEO,
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("http://localhost:8000/v1"),
        refuses=(
            *request_rules("vllm-project/vllm#39780, 2026-04", tools_not_empty),
            *request_rules(
                "vllm-project/vllm#19239, 2025-06, and sgl-project/sglang#28862, 2026-06",
                choice_has_tools("tool_choice"),
                chosen_tools_exist,
            ),
        ),
    ),
    facts=_FACTS._replace(
        malformed="the text as the model wrote it: only forced and strict tools are constrained",
        strict="`function.strict`; forced tools are always constrained",
        needs="`--enable-auto-tool-choice --tool-call-parser ...` on the server",
    ),
)
# SGLang's grammars are xgrammar's by default: docs.sglang.io, "Structured Outputs", read
# 2026-11-28.
SGLANG = replace(
    VLLM,
    name="sglang",
    output=outputs.SGLANG,
    histories=messages.VENDOR_HISTORIES,
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("http://localhost:30000/v1"),
        refuses=request_rules(
            "sgl-project/sglang#28862, 2026-06", choice_has_tools("tool_choice"), chosen_tools_exist
        ),
    ),
    facts=VLLM.facts._replace(needs="`--tool-call-parser ...` on the server"),
)
LLAMA_CPP = replace(
    _NO_STRICT,
    name="llama-cpp",
    schema=replace(
        _NO_STRICT.schema,
        refuses=(
            *VENDOR.schema.refuses,
            *cited(
                llama_cpp.EVIDENCE,
                llama_cpp.patterns_of_grammars,
                llama_cpp.lengths_of_grammars,
                llama_cpp.no_boolean_schemas,
            ),
        ),
        lenient=(*VENDOR.schema.lenient, *llama_cpp.FOR_GRAMMARS),
    ),
    output=outputs.LLAMA_CPP,
    histories=_histories(
        *history_rules(
            f"{llama_cpp.EVIDENCE}: Failed to parse tool call arguments as JSON",
            "malformed_arguments",
            pattern=JSON_TEXT,
        )
    ),
    facts=_NO_STRICT.facts._replace(
        needs="`--jinja` on the server; parallel calls are off unless `parallel=True` asks for them"
    ),
    server=replace(VENDOR_SERVER, address=probes.address_of_chat("http://localhost:8080/v1")),
)


def choice_is_word(request: RequestRead) -> Iterator[RequestFault]:
    """Check that the choice is a word; no tool can be named."""
    if isinstance(request.body.get("tool_choice"), dict):
        message = "the choice must be none, auto or required: send only the tools to choose from"
        yield RequestFault("tool_choice", "choice_is_word", message)


# LM Studio runs llama.cpp (GGUF) or MLX; only the first keeps a schema by a grammar.
LM_STUDIO = replace(
    LLAMA_CPP,
    name="lm-studio",
    request=replace(LLAMA_CPP.request, keywords=openai_schema.request_with_words),
    histories=messages.VENDOR_HISTORIES,
    output=outputs.LM_STUDIO,
    facts=_NO_STRICT.facts._replace(
        needs="a choice names no tool: only the tools to choose from are sent"
    ),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("http://localhost:1234/v1"),
        refuses=request_rules(
            "earendil-works/pi#4266, 2026-05, and can1357/oh-my-pi#6925, 2026-07", choice_is_word
        ),
        wordings={
            "choice_is_word": Wording(
                "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
            )
        },
    ),
)
# Moonshot refuses references: "not a valid moonshot flavored json schema ... $defs not found"
# (command-code#566).
MOONSHOT = replace(
    _NO_STRICT,
    name="moonshot",
    schema=replace(
        _NO_STRICT.schema,
        refuses=(*VENDOR.schema.refuses, *cited("command-code#566, 2026", rules.no_references)),
        lenient=(*VENDOR.schema.lenient, structure.inline_references),
    ),
    codec=replace(_NO_STRICT.codec, carries=frozenset({"image"})),
    histories=replace(
        _histories(
            *history_rules(
                "continuedev/continue#11600, 2026-03",
                "missing_reasoning",
                models=r"thinking|k2\.[5-9]",
                pattern="reasoning_content",
                always="thinking",
            )
        ),
        # The server refuses audio and files, and accepts videos: @ai-sdk/moonshotai 3.0.32,
        # 2026-08.
        input_kinds=frozenset({"image", "image_url", "video", "video_url"}),
        media_types=frozenset({"image/*", "video/*"}),
    ),
    server=replace(
        VENDOR_SERVER,
        address=probes.address_of_chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        models=("kimi-k2.6",),
        endpoint=_endpoint_for_openai_sdk(MOONSHOT_API_KEY=KEY),
    ),
)

PROVIDERS = (
    AZURE,
    DEEPSEEK,
    GROQ,
    XAI,
    OPENROUTER,
    COPILOT,
    TOGETHER,
    FIREWORKS,
    CEREBRAS,
    VLLM,
    SGLANG,
    LLAMA_CPP,
    LM_STUDIO,
    MOONSHOT,
)
