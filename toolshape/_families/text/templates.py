"""Lists the marks with which chat templates begin and end messages, by the format of calls.

A tokenizer reads such a mark inside of a result as the mark itself: for the model, the message ends
there, and another one begins. The text cannot be escaped without a change of what the model reads,
so toolshape reports it. Source: the templates of llama.cpp as in llama-cpp-python 0.3.36
(``models/templates``), read 2026-11-27. Formats whose templates are not there have no entry.
"""

from collections.abc import Mapping
from types import MappingProxyType

_CHATML = ("<|im_start|>", "<|im_end|>")
_RESPONSE = ("<tool_response>", "</tool_response>")
_ROLES = ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>")  # Granite 3.3, 4.0 and 4.1
_HEADERS = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>")
_INST = ("[INST]", "[/INST]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]",
"[/SYSTEM_PROMPT]")  # fmt: skip
_DEEPSEEK = (
    "<\uff5cUser\uff5c>",
    "<\uff5cAssistant\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
_MINIMAX = ("]~!b[", "]~b]", "[e~[")

TEMPLATE_MARKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "apertus": (
            "<|system_start|>", "<|system_end|>", "<|developer_start|>", "<|developer_end|>",
            "<|user_start|>", "<|user_end|>",
            "<|assistant_start|>", "<|assistant_end|>", "<|tools_suffix|>",
        ),
        "cohere_command": (
            "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>",
            "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>",
            "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>",
        ),
        "deepseek_v3": (
            *_DEEPSEEK, "<\uff5ctool\u2581output\u2581begin\uff5c>",
            "<\uff5ctool\u2581output\u2581end\uff5c>",
            "<\uff5ctool\u2581outputs\u2581begin\uff5c>",
            "<\uff5ctool\u2581outputs\u2581end\uff5c>",
        ),
        "deepseek_v31": (*_DEEPSEEK, "<\uff5ctool\u2581output\u2581begin\uff5c>",
        "<\uff5ctool\u2581output\u2581end\uff5c>"),
        "deepseek_v32": (*_DEEPSEEK, "<tool_result>", "</tool_result>"),
        "gemma4": ("<|turn>", "<turn|>", "<|tool_response>", "<tool_response|>"),
        "gigachat3": ("<|message_sep|>", "<|role_sep|>"),
        "glm45": ("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", *_RESPONSE),
        "granite": _ROLES,
        "harmony": ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"),
        "hermes": (*_CHATML, *_RESPONSE, *_ROLES),
        "hunyuan": ("<\uff5chy_User\uff5c>", "<\uff5chy_Assistant\uff5c>", *_RESPONSE),
        "kimi_k2": ("<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>",
        "<|im_end|>"),
        "kimi_k3": ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"),
        "lfm2": (*_CHATML, "<|tool_response_start|>", "<|tool_response_end|>"),
        "llama3_json": _HEADERS,
        "mimo": (*_CHATML, *_RESPONSE),
        "minimax_m1": ("<begin_of_document>", "<beginning_of_sentence>", "<end_of_sentence>"),
        "minimax_m2": _MINIMAX,
        "minimax_m3": _MINIMAX,
        "mistral": _INST,
        "mistral_old": _INST,
        "muse": ("<|start|>", "<|message|>", "<|eom|>", "<|eot|>"),
        "nemotron": ("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>"),
        "phi4": ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
        "pythonic": (*_HEADERS, "<start_of_turn>", "<end_of_turn>"),
        "qwen3_coder": (*_CHATML, *_RESPONSE),
        "seed_oss": ("<seed:bos>", "<seed:eos>"),
        "tool_calls": ("<|begin_system|>", "<|begin_user|>", "<|begin_assistant|>",
        "<|begin_tool_result|>", "<|end|>"),
    }
)  # fmt: skip
"""The marks of the chat templates, by the name of the format that the models of the template write.
"""
