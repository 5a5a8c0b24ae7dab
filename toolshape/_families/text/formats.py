"""The formats in which open models write tool calls, from chat templates and servers' parsers.

The templates come from llama.cpp's ``models/templates`` (as in llama-cpp-python 0.3.36), from vLLM
0.33.0 (``examples``), and from Ollama's renderers. All were rendered with the same messages on
2026-11-25. The parsers come from vLLM 0.33.0 and SGLang 0.5.23.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from toolshape._families.text.format import Steps, TextFormat
from toolshape._families.text.steps import (
    Blank,
    Braces,
    Choice,
    JsonValue,
    Layout,
    Mark,
    Optional,
    PythonCall,
    PythonCalls,
    Repeated,
    TextUntil,
)

_THINK = (("<think>", "</think>"),)
_OBJECT = '{{"name": "{name}", "arguments": {arguments}}}'
_READ = "2026-11-25"
_READ_SOURCES = "2026-11-26"


def _again(mark: str) -> Steps:
    """Return the steps for an opening mark that a model may write once more.

    Source: minpeter/ai-sdk-tool-call-middleware#299, 2026-04, about Hermes' form.
    """
    return (Blank(), Repeated((Mark(mark), Blank())))


def _json_steps(*ends: str, again: str = "") -> Steps:
    """Return the steps for a JSON object or list and its end mark, which may be missing.

    Before an end mark, further objects or lists may follow, with a comma between them or without:
    models write several calls into one element (vllm-project/vllm#45168,
    NousResearch/hermes-agent#25333, 2026). The opening mark may come ``again``.
    """
    if not ends:
        return (Blank(), JsonValue("json"), Blank())
    further = JsonValue("json", ends, begins=("{", "["))
    return (
        *(_again(again) if again else (Blank(),)),
        JsonValue("json", ends),
        Blank(),
        Repeated((further, Blank())),
        Repeated((Mark(","), Blank(), further, Blank())),
        Optional((Mark(ends[0]),)),
    )


_BARE_JSON: Steps = (JsonValue("json"),)

HERMES = TextFormat(
    name="hermes",
    models=(
        r"hermes-[234]",
        r"qwen2(\.5)?-(?!.*coder)",
        r"qwen3-(?!.*(coder|next-coder))",
        r"qwq",
        r"granite-4\.[01]",
        r"mimo-vl",
        r"exaone-4",
        r"ernie-4\.5.*thinking",
    ),
    evidence=f"templates of Qwen2.5, Qwen3, Hermes 3 and Granite 4; vLLM's hermes_tool_parser, {_READ}",
    openings=(("<tool_call>", _json_steps("</tool_call>", again="<tool_call>")),),
    # Qwen2.5-Coder and others leave the mark out (vllm#10952 and similar issues).
    bare=(("{", _BARE_JSON),),
    quiet=("</tool_call>", "</think>", "<|im_end|>"),
    reasoning=_THINK,
    layout=Layout(call=f"<tool_call>\n{_OBJECT}\n</tool_call>", between="\n"),
)


def _parameter_steps(
    opening: str,
    key_end: str,
    closing: str,
    *followers: str,
    ends: tuple[str, ...] = (),
    kind_end: str = "",
    is_special: bool = False,
    may_lack_key_end: bool = False,
) -> Steps:
    """Return the steps for a parameter in tags; a closing tag counts only before
    a parameter or the call's end.

    Models sometimes leave out closing tags. Then the value ends before the next tag at the start of
    a line. If the tags are special tokens, the value ends before the next tag anywhere. ``ends``
    are the marks that end all calls: such a mark may also follow a parameter. If ``kind_end`` is
    given, the tag also declares the value's type before this mark.
    """
    if kind_end:
        kind_steps: Steps = (TextUntil((kind_end,), "kind"),)
    else:
        kind_steps = ()
    if is_special:
        next_tags = followers
    else:
        next_tags = tuple(f"\n{follower}" for follower in followers)
    value_step = TextUntil(
        (closing, *next_tags), "value", only_before=(*followers, *ends), leaves=next_tags
    )
    # Where the template writes a line end before the value, it also ends a key without its mark.
    key_step = TextUntil((key_end,), "key", excludes="\n")
    if may_lack_key_end:
        key_step = TextUntil((key_end, "\n"), "key", leaves=("\n",))
    return (
        Mark(opening),
        key_step,
        *kind_steps,
        value_step,
        Blank(),
    )


def _function_steps(end: str) -> Steps:
    """Return the steps for a call in ``function`` tags after ``<function=``; ``end``
    is the mark that ends the call.
    """
    parameter_steps = _parameter_steps(
        "<parameter=",
        ">",
        "</parameter>",
        "<parameter=",
        "</function>",
        ends=(end,),
        may_lack_key_end=True,
    )
    return (
        TextUntil((">", "\n"), "name", excludes="< ", leaves=("\n",)),
        Blank(),
        Repeated(parameter_steps),
        Mark("</function>", or_before=(end,)),
        Blank(),
        Optional((Mark(end),)),
    )


QWEN3_CODER = TextFormat(
    name="qwen3_coder",
    models=(
        r"qwen3-.*coder",
        r"qwen3\.[5-9]",
        r"qwen3-coder",
        r"nemotron-3",
        r"step-?3\.[5-9]",
        r"granite-4\.2",
    ),
    evidence=f"templates of Qwen3-Coder, Qwen3.5 and Nemotron 3; vLLM's parser/qwen3.py, {_READ}",
    openings=(
        (
            "<tool_call>",
            (*_again("<tool_call>"), Mark("<function="), *_function_steps("</tool_call>")),
        ),
        ("<function=", _function_steps("</tool_call>")),
    ),
    quiet=("</tool_call>", "</think>", "<|im_end|>"),
    reasoning=_THINK,
    layout=Layout(
        call="<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>",
        between="\n",
        parameter="<parameter={key}>\n{value}\n</parameter>\n",
    ),
    is_untyped=True,
    xml_style="qwen_xml",
    has_line_ends=True,
)

MIMO = replace(
    QWEN3_CODER,
    name="mimo",
    models=(r"mimo-v2",),
    evidence=f"vLLM's parser/mimo.py, {_READ_SOURCES}",
    layout=QWEN3_CODER.layout._replace(parameter="<parameter={key}>{value}</parameter>\n"),
    has_line_ends=False,
    xml_style="",
)

SEED_OSS = TextFormat(
    name="seed_oss",
    models=(r"seed-oss",),
    evidence=f"template of Seed-OSS-36B; vLLM's seed_oss parser, {_READ}",
    openings=(
        (
            "<seed:tool_call>",
            (Blank(), Mark("<function="), *_function_steps("</seed:tool_call>")),
        ),
    ),
    quiet=("</seed:tool_call>", "</seed:think>", "<seed:eos>"),
    reasoning=(("<seed:think>", "</seed:think>"),),
    layout=Layout(
        call="<seed:tool_call>\n<function={name}>\n{parameters}</function>\n</seed:tool_call>",
        between="\n",
        parameter="<parameter={key}>{value}</parameter>\n",
    ),
    is_untyped=True,
)

_FURTHER_JSON = Repeated((Mark(";"), Blank(), Optional((JsonValue("json"), Blank()))))
LLAMA3_JSON = TextFormat(
    name="llama3_json",
    models=(r"llama-3\.[123]", r"meta-llama-3\.[123]"),
    evidence=f"templates of Llama 3.1 to 3.3; vLLM's llama_tool_parser; vllm#16214, {_READ}",
    openings=(
        ("<|python_tag|>", (*_json_steps(), _FURTHER_JSON)),
        (
            "<|python_start|>",
            (
                Blank(),
                JsonValue("json"),
                Blank(),
                _FURTHER_JSON,
                Optional((Mark("<|python_end|>"),)),
            ),
        ),
    ),
    bare=(("{", (JsonValue("json"), Blank(), Optional((Mark(";"),)))),),
    quiet=("<|eot_id|>", "<|eom_id|>", "<|eot|>"),
    layout=Layout(call='{{"name": "{name}", "parameters": {arguments}}}', between="; "),
)

_PYTHON_NAMES = r"[a-zA-Z_][a-zA-Z0-9_]*"
PYTHONIC = TextFormat(
    name="pythonic",
    models=(r"llama-4", r"llama-3\.2-[13]b", r"toolace", r"gemma-3-"),
    evidence=f"templates of Llama 4 and ToolACE; vLLM's pythonic_tool_parser, {_READ}",
    openings=(
        (
            "<|python_start|>",
            (Blank(), PythonCalls("python"), Blank(), Optional((Mark("<|python_end|>"),))),
        ),
    ),
    bare=(("[", (PythonCalls("python"),)),),
    quiet=("<|eot_id|>", "<|eot|>", "<end_of_turn>"),
    layout=Layout(
        call="{name}({parameters})",
        before="[",
        between=", ",
        after="]",
        parameter="{key}={value}",
        between_parameters=", ",
    ),
    names=_PYTHON_NAMES,
)

LFM2 = TextFormat(
    name="lfm2",
    models=(r"lfm2",),
    evidence=f"template of LFM2; vLLM's lfm2_tool_parser, {_READ}",
    openings=(
        (
            "<|tool_call_start|>",
            (Blank(), PythonCalls("python"), Blank(), Optional((Mark("<|tool_call_end|>"),))),
        ),
    ),
    bare=(("[", (PythonCalls("python"),)),),
    quiet=("<|tool_call_end|>", "</think>", "<|im_end|>"),
    reasoning=_THINK,
    layout=Layout(
        call="{name}({parameters})",
        before="<|tool_call_start|>[",
        between=", ",
        after="]<|tool_call_end|>",
        parameter="{key}={value}",
        between_parameters=", ",
    ),
    names=_PYTHON_NAMES,
)

MISTRAL_OLD = TextFormat(
    name="mistral_old",
    models=(
        r"mistral-7b-instruct-v0\.3",
        r"mistral-nemo",
        r"mistral-large-2407",
        r"mistral-small-3\.[01]",
        r"mixtral",
    ),
    evidence=f"templates of Mistral Nemo and 7B v0.3; vLLM's parser/mistral.py, {_READ}",
    openings=(
        ("[TOOL_CALLS]", (*_json_steps(), Repeated((JsonValue("json", begins=("[{",)), Blank())))),
    ),
    bare=(("[", _BARE_JSON),),
    quiet=("</s>",),
    layout=Layout(
        call='{{"name": "{name}", "arguments": {arguments}, "id": "{id}"}}',
        before="[TOOL_CALLS][",
        between=", ",
        after="]",
    ),
    needs_ids=True,
)

MISTRAL = TextFormat(
    name="mistral",
    models=(r"mistral", r"ministral", r"magistral", r"devstral"),
    evidence=f"templates of Mistral Small 3.2 and Ministral 3; vLLM's parser/mistral.py, {_READ}",
    openings=(
        (
            "[TOOL_CALLS]",
            (
                Blank(),
                Choice(
                    (
                        ("[{", (JsonValue("json"),)),
                        (
                            "",
                            (
                                TextUntil(
                                    ("[ARGS]", "[CALL_ID]", "{"),
                                    "name",
                                    excludes="\n",
                                    leaves=("[CALL_ID]", "{"),
                                ),
                                Optional(
                                    (
                                        Mark("[CALL_ID]"),
                                        TextUntil(("[ARGS]",), "id", excludes="\n{"),
                                    )
                                ),
                                Blank(),
                                JsonValue("arguments"),
                            ),
                        ),
                    )
                ),
            ),
        ),
    ),
    quiet=("</s>",),
    reasoning=(("[THINK]", "[/THINK]"), *_THINK),
    layout=Layout(call="[TOOL_CALLS]{name}[ARGS]{arguments}"),
    needs_ids=True,
)

_CALLS, _CALLS_END = (
    "<\uff5ctool\u2581calls\u2581begin\uff5c>",
    "<\uff5ctool\u2581calls\u2581end\uff5c>",
)
_CALL, _CALL_END = (
    "<\uff5ctool\u2581call\u2581begin\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>",
)
_SEPARATOR, _END = "<\uff5ctool\u2581sep\uff5c>", "<\uff5cend\u2581of\u2581sentence\uff5c>"
_DEEPSEEK_QUIET = (_CALLS, _CALLS_END, _CALL_END, "</think>", _END)

DEEPSEEK_V3 = TextFormat(
    name="deepseek_v3",
    models=(r"deepseek-v3(-0324|-base)?$", r"deepseek-r1"),
    evidence=f"vLLM's tool_chat_template_deepseekv3 and deepseekv3_tool_parser, {_READ}",
    openings=(
        (
            _CALL,
            (
                TextUntil((_SEPARATOR,), "type", excludes="\n{"),
                TextUntil(("\n",), "name", excludes="{"),
                Blank(),
                Mark("```json"),
                Blank(),
                JsonValue("arguments", (_CALL_END,)),
                Blank(),
                Optional((Mark("```"),)),
                Blank(),
                Optional((Mark(_CALL_END),)),
            ),
        ),
    ),
    quiet=_DEEPSEEK_QUIET,
    reasoning=_THINK,
    layout=Layout(
        before=_CALLS,
        call=f"{_CALL}function{_SEPARATOR}{{name}}\n```json\n{{arguments}}\n```{_CALL_END}",
        between="\n",
        after=_CALLS_END,
    ),
)

DEEPSEEK_V31 = TextFormat(
    name="deepseek_v31",
    models=(r"deepseek-v3\.1", r"deepseek-v3\.2-exp"),
    evidence=f"template of DeepSeek-V3.1; vLLM's deepseekv31_tool_parser, {_READ}",
    openings=(
        (
            _CALL,
            (
                TextUntil((_SEPARATOR,), "name", excludes="\n{"),
                Blank(),
                JsonValue("arguments", (_CALL_END,)),
                Blank(),
                Optional((Mark(_CALL_END),)),
            ),
        ),
    ),
    quiet=_DEEPSEEK_QUIET,
    reasoning=_THINK,
    layout=Layout(
        before=_CALLS, call=f"{_CALL}{{name}}{_SEPARATOR}{{arguments}}{_CALL_END}", after=_CALLS_END
    ),
)


def _invoke_steps(*ends: str, prefix: str = "", is_special: bool = False) -> Steps:
    """Return the steps for a call in ``invoke`` tags after ``<invoke name=``.

    Args:
        *ends: The marks that end the list of calls.
        prefix: The text before the name of each tag.
        is_special: Whether the tags are special tokens that declare the types of values.
    """
    parameter_tag, closing_tag = f"<{prefix}parameter name=", f"</{prefix}parameter>"
    key_end = '"' if is_special else ">"
    if is_special:
        opening_tag = f'{parameter_tag}"'
    else:
        opening_tag = parameter_tag
    return (
        TextUntil((">",), "name", excludes="\n<"),
        Blank(),
        Repeated(
            _parameter_steps(
                opening_tag,
                key_end,
                closing_tag,
                parameter_tag,
                f"</{prefix}invoke>",
                ends=ends,
                kind_end=">" if is_special else "",
                is_special=is_special,
            )
        ),
        Mark(f"</{prefix}invoke>", or_before=ends),
        Blank(),
    )


_DSML = "\uff5cDSML\uff5c"
DEEPSEEK_V32 = TextFormat(
    name="deepseek_v32",
    models=(r"deepseek-v3\.2", r"deepseek-v4"),
    evidence="templates of DeepSeek-V3.2 and V4; vLLM's parser/deepseek_v32.py and deepseek_v4.py, "
    f"{_READ}",
    openings=(
        (
            f"<{_DSML}invoke name=",
            _invoke_steps(
                f"</{_DSML}function_calls>", f"</{_DSML}tool_calls>", prefix=_DSML, is_special=True
            ),
        ),
    ),
    quiet=(
        *(
            f"<{end}{_DSML}{section}>"
            for section in ("function_calls", "tool_calls")
            for end in ("", "/")
        ),
        "</think>",
        _END,
    ),
    reasoning=_THINK,
    layout=Layout(
        before=f"<{_DSML}function_calls>\n",
        call=f'<{_DSML}invoke name="{{name}}">\n{{parameters}}</{_DSML}invoke>\n',
        after=f"</{_DSML}function_calls>",
        parameter=f'<{_DSML}parameter name="{{key}}" '
        f'string="{{is_text}}">{{value}}</{_DSML}parameter>\n',
    ),
    is_untyped=True,
    xml_style="deepseek_xml",
    wrappers=("arguments", "input"),
    declared=(('string="true"', "text"), ('string="false"', "json")),
)

DEEPSEEK_V41 = replace(
    DEEPSEEK_V32,
    name="deepseek_v41",
    models=(r"deepseek-v4\.1",),
    evidence=f"vLLM's parser/deepseek_v41.py, {_READ_SOURCES}",
    openings=(
        (
            f"<{_DSML} invoke name=",
            _invoke_steps(f"</{_DSML} calls>", prefix=f"{_DSML} ", is_special=True),
        ),
    ),
    quiet=(f"<{_DSML} calls>", f"</{_DSML} calls>", "</think>", _END),
    layout=Layout(
        before=f"<{_DSML} calls>\n",
        call=f'<{_DSML} invoke name="{{name}}">\n{{parameters}}</{_DSML} invoke>\n',
        after=f"</{_DSML} calls>",
        parameter=f'<{_DSML} parameter name="{{key}}" string="{{is_text}}">{{value}}</{_DSML} '
        "parameter>\n",
    ),
    xml_style="",
)

MINIMAX_M2 = TextFormat(
    name="minimax_m2",
    models=(r"minimax-m2",),
    evidence=f"template of MiniMax-M2; vLLM's parser/minimax_m2.py, {_READ}",
    openings=(("<invoke name=", _invoke_steps("</minimax:tool_call>")),),
    quiet=("<minimax:tool_call>", "</minimax:tool_call>", "</think>", "[e~["),
    reasoning=_THINK,
    layout=Layout(
        before="<minimax:tool_call>\n",
        call='<invoke name="{name}">\n{parameters}</invoke>\n',
        after="</minimax:tool_call>",
        parameter='<parameter name="{key}">{value}</parameter>\n',
    ),
    is_untyped=True,
    xml_style="minimax_xml",
)

_TAG = "]<]minimax[>["
MINIMAX_M3 = TextFormat(
    name="minimax_m3",
    models=(r"minimax-m3",),
    evidence=f"vLLM's parser/minimax_m3.py and minimax_m3_reasoning_parser, {_READ_SOURCES}",
    openings=(
        (
            f"{_TAG}<invoke name=",
            (
                TextUntil((">",), "name", excludes="\n<"),
                TextUntil((f"{_TAG}</invoke>",), "elements", keeps_cut=True),
                Blank(),
            ),
        ),
    ),
    quiet=(f"{_TAG}<tool_call>", f"{_TAG}</tool_call>", "</mm:think>", "[e~["),
    reasoning=(("<mm:think>", "</mm:think>"),),
    layout=Layout(
        before=f"{_TAG}<tool_call>\n",
        call=f'{_TAG}<invoke name="{{name}}">\n{{parameters}}{_TAG}</invoke>\n',
        after=f"{_TAG}</tool_call>",
        parameter=f"{_TAG}<{{key}}>{{value}}{_TAG}</{{key}}>\n",
    ),
    is_untyped=True,
    tag_mark=_TAG,
)

STEP3 = TextFormat(
    name="step3",
    models=(r"^step-?3(?!\.)",),
    evidence=f"vLLM's step3_tool_parser, {_READ_SOURCES}",
    openings=(
        ("<steptml:invoke name=", _invoke_steps("<\uff5ctool_call_end\uff5c>", prefix="steptml:")),
    ),
    quiet=(
        *(
            f"<\uff5c{mark}\uff5c>"
            for mark in ("tool_calls_begin", "tool_calls_end", "tool_call_end", "tool_sep")
        ),
        "<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>",
        "<\uff5ctool_call_begin\uff5c>",
        "</think>",
    ),
    reasoning=_THINK,
    layout=Layout(
        before="<\uff5ctool_calls_begin\uff5c>",
        call=(
            "<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>"
            '<steptml:invoke name="{name}">{parameters}</steptml:invoke><\uff5ctool_call_end\uff5c>'
        ),
        after="<\uff5ctool_calls_end\uff5c>",
        parameter='<steptml:parameter name="{key}">{value}</steptml:parameter>',
    ),
    is_untyped=True,
)

_ATEM_CALL: Steps = (
    TextUntil(("<|message|>",), "recipient", excludes="\n<> "),
    Blank(),
    Optional((Mark("<atem:function_calls>"),)),
    Blank(),
    Mark("<atem:invoke name="),
    *_invoke_steps("</atem:function_calls>", prefix="atem:"),
)
MUSE = TextFormat(
    name="muse",
    models=(r"muse-(spark|glimmer)",),
    evidence=f"template of Muse Glimmer; vLLM's muse_tool_parser, {_READ_SOURCES}",
    openings=(
        ("<|start|>assistant to=", _ATEM_CALL),
        ("<atem:invoke name=", _invoke_steps("</atem:function_calls>", prefix="atem:")),
    ),
    bare=(("to=", _ATEM_CALL),),  # the template already wrote the start of the first message
    quiet=(
        *(
            f"{start}to={recipient}<|message|>"
            for start in ("", "<|start|>assistant ")
            for recipient in ("user", "commentary")
        ),
        "<atem:function_calls>",
        "</atem:function_calls>",
        "<|eom|>",
        "<|eot|>",
    ),
    reasoning=(
        ("to=self<|message|>", "<|eom|>"),
        ("<|start|>assistant to=self<|message|>", "<|eom|>"),
    ),
    layout=Layout(
        call=(
            "<|start|>assistant to={name}<|message|><atem:function_calls>\n<atem:invoke "
            'name="{name}">\n{parameters}'
            "</atem:invoke>\n</atem:function_calls>"
        ),
        between="<|eom|>",
        parameter='<atem:parameter name="{key}">{value}</atem:parameter>\n',
    ),
    is_untyped=True,
    doubles_names=True,
)

DOTS = TextFormat(
    name="dots",
    models=(r"dots\.",),
    evidence=f"vLLM's dots_tool_parser, {_READ_SOURCES}",
    openings=(
        (
            "<dots_function_call>",
            (
                Blank(),
                Choice(
                    (
                        ("{[", _json_steps("</dots_function_call>")),
                        ("<", (Mark("<invoke name="), *_invoke_steps("</dots_function_call>"))),
                    )
                ),
            ),
        ),
        ("<invoke name=", _invoke_steps("</dots_function_call>")),
    ),
    quiet=("</dots_function_call>", "</think>"),
    reasoning=_THINK,
    layout=Layout(
        before="<dots_function_call>\n",
        call='<invoke name="{name}">\n{parameters}</invoke>\n',
        after="</dots_function_call>",
        parameter='<parameter name="{key}">{value}</parameter>\n',
    ),
    is_untyped=True,
)

INVOKE = TextFormat(
    name="invoke",
    models=(),
    evidence="the form that models imitate from Anthropic's earlier prompts; Active Agent#435, "
    f"{_READ}",
    openings=(("<invoke name=", _invoke_steps("</function_calls>")),),
    quiet=("<function_calls>", "</function_calls>", "</think>"),
    reasoning=_THINK,
    layout=Layout(
        before="<function_calls>\n",
        call='<invoke name="{name}">\n{parameters}</invoke>\n',
        after="</function_calls>",
        parameter='<parameter name="{key}">{value}</parameter>\n',
    ),
    is_untyped=True,
)

_KEYS_AND_VALUES = Repeated(
    (
        Mark("<arg_key>"),
        TextUntil(("</arg_key>",), "key", excludes="\n"),
        Blank(),
        Repeated((Mark("</arg_key>"), Blank())),  # written twice: vllm-project/vllm#54971, 2026
        Mark("<arg_value>"),
        TextUntil(("</arg_value>",), "value", only_before=("<arg_key>", "</tool_call>")),
        Blank(),
    )
)
GLM45 = TextFormat(
    name="glm45",
    models=(r"glm-4\.[5-9]", r"glm-5", r"laguna", r"ling-3"),
    evidence=f"templates of GLM-4.6 and GLM-4.7; vLLM's parser/glm47_moe.py, {_READ}",
    openings=(
        (
            "<tool_call>",
            (
                Blank(),
                TextUntil(
                    ("\n", "<arg_key>", "</tool_call>"),
                    "name",
                    excludes="{ ",
                    leaves=("<arg_key>", "</tool_call>"),
                ),
                Blank(),
                _KEYS_AND_VALUES,
                Mark("</tool_call>"),
            ),
        ),
    ),
    quiet=("</think>", "<|observation|>", "<|user|>"),
    reasoning=_THINK,
    layout=Layout(
        call="<tool_call>{name}\n{parameters}</tool_call>",
        between="\n",
        parameter="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    ),
    is_untyped=True,
    xml_style="glm_xml",
)

HUNYUAN = TextFormat(
    name="hunyuan",
    models=(r"^hy3", r"hunyuan-3"),
    evidence=f"vLLM's hy_v3_tool_parser, {_READ_SOURCES}",
    openings=(
        (
            "<tool_call>",
            (
                Blank(),
                TextUntil(("<tool_sep>",), "name", excludes="{<\n"),
                Blank(),
                _KEYS_AND_VALUES,
                Mark("</tool_call>"),
                Blank(),
            ),
        ),
    ),
    quiet=("<tool_calls>", "</tool_calls>", "</think>"),
    reasoning=_THINK,
    layout=Layout(
        before="<tool_calls>\n",
        call="<tool_call>{name}<tool_sep>\n{parameters}</tool_call>\n",
        after="</tool_calls>",
        parameter="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    ),
    is_untyped=True,
)

_GEMMA_QUOTE, _ESCAPE = '<|"|>', "<escape>"


def _braced_call_steps(quote: str, closing: str) -> Steps:
    """Return the steps for a call with arguments in braces, and for its
    end mark, which may be missing.

    With many tools, Gemma also writes parentheses, or no arguments at all (vllm-project/vllm#53642
    and #53444, jundot/omlx#1886, 2026).
    """
    name_ends = ("{", "(", closing)
    return (
        Blank(),
        Optional((Mark("call"),)),
        Mark(":"),
        TextUntil(name_ends, "name", excludes="\n<", leaves=name_ends),
        Choice((("{(", (Braces("braces", quote, (closing,)),)), ("", ()))),
        Blank(),
        Optional((Mark(closing),)),
    )


GEMMA4 = TextFormat(
    name="gemma4",
    models=(r"gemma-4",),
    evidence="vLLM's tool_chat_template_gemma4 and parser/gemma4.py; ai.google.dev, "
    f"function-calling-gemma4, {_READ_SOURCES}",
    openings=(("<|tool_call>", _braced_call_steps(_GEMMA_QUOTE, "<tool_call|>")),),
    quiet=("<tool_call|>", "<channel|>", "<turn|>", "<|tool_response>"),
    reasoning=(("<|channel>thought", "<channel|>"),),
    layout=Layout(
        call="<|tool_call>call:{name}{{{parameters}}}<tool_call|>",
        parameter="{key}:{value}",
        between_parameters=",",
    ),
    quote=_GEMMA_QUOTE,
)

FUNCTION_GEMMA = TextFormat(
    name="functiongemma",
    models=(r"functiongemma",),
    evidence="ai.google.dev, functiongemma/formatting-and-best-practices; vLLM's "
    f"functiongemma_tool_parser, {_READ_SOURCES}",
    openings=(("<start_function_call>", _braced_call_steps(_ESCAPE, "<end_function_call>")),),
    quiet=("<end_function_call>", "<end_of_turn>", "<start_function_response>"),
    layout=Layout(
        call="<start_function_call>call:{name}{{{parameters}}}<end_function_call>",
        parameter="{key}:{value}",
        between_parameters=",",
    ),
    quote=_ESCAPE,
)

OLMO3 = TextFormat(
    name="olmo3",
    models=(r"olmo-3",),
    evidence=f"vLLM's olmo3_tool_parser and its tests, {_READ_SOURCES}",
    openings=(
        (
            "<function_calls>",
            (
                Blank(),
                Repeated((PythonCall("python"), Blank())),
                Optional((Mark("</function_calls>"),)),
            ),
        ),
    ),
    quiet=("</function_calls>", "</think>", "<|im_end|>"),
    reasoning=_THINK,
    layout=Layout(
        call="{name}({parameters})",
        before="<function_calls>",
        between="\n",
        after="</function_calls>",
        parameter="{key}={value}",
        between_parameters=", ",
    ),
    names=_PYTHON_NAMES,
)

KIMI_K3 = TextFormat(
    name="kimi_k3",
    models=(r"kimi-k3",),
    evidence="vLLM's kimi_k3_tool_parser, kimi_k3_reasoning_parser and structural_tag_registry, "
    f"{_READ_SOURCES}",
    openings=(
        (
            "<|open|>call ",
            (
                TextUntil(("<|sep|>",), "name", excludes="\n"),
                Blank(),
                Repeated(
                    _parameter_steps(
                        '<|open|>argument key="',
                        '"',
                        "<|close|>argument<|sep|>",
                        "<|open|>argument ",
                        "<|close|>call<|sep|>",
                        ends=("<|close|>tools<|sep|>",),
                        kind_end="<|sep|>",
                        is_special=True,
                    )
                ),
                Mark("<|close|>call<|sep|>", or_before=("<|close|>tools<|sep|>",)),
                Blank(),
            ),
        ),
    ),
    quiet=(
        *(
            f"<|{way}|>{channel}<|sep|>"
            for way in ("open", "close")
            for channel in ("tools", "response")
        ),
        "<|close|>message<|sep|>",
        "<|close|>think<|sep|>",
        "<|end_of_msg|>",
    ),
    reasoning=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
    layout=Layout(
        before="<|open|>tools<|sep|>",
        call='<|open|>call tool="{name}" index="{ordinal}"<|sep|>{parameters}<|close|>call<|sep|>',
        after="<|close|>tools<|sep|>",
        parameter='<|open|>argument key="{key}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>',
    ),
    is_untyped=True,
    has_entities=True,
    name_pattern=r'.*?tool="(?P<name>[^"]*).*',
    declared=(('type="string"', "text"), ("type=", "json")),
)

KIMI_K2 = TextFormat(
    name="kimi_k2",
    models=(r"kimi-k2",),
    evidence="templates of Kimi K2; vLLM's parser/kimi_k2.py; Moonshot's tool_call_guidance.md, "
    f"{_READ}",
    openings=(
        (
            "<|tool_call_begin|>",
            (
                TextUntil(("<|tool_call_argument_begin|>",), "name", excludes="{"),
                Blank(),
                JsonValue("arguments", ("<|tool_call_end|>",)),
                Blank(),
                Optional((Mark("<|tool_call_end|>"),)),
            ),
        ),
    ),
    quiet=(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_section_begin|>",
        "<|tool_call_section_end|>",
        "<|tool_call_end|>",
        "</think>",
        "<|im_end|>",
    ),
    reasoning=_THINK,
    layout=Layout(
        before="<|tool_calls_section_begin|>",
        call="<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
        after="<|tool_calls_section_end|>",
    ),
    name_pattern=r"(?:functions[._])?(?P<name>.+?)[:._]\d+",
    id_form="functions.{name}:{number}",
)

MINIMAX_M1 = TextFormat(
    name="minimax_m1",
    models=(r"minimax-m1", r"minimax-text-01"),
    evidence=f"template of MiniMax-M1, {_READ}",
    openings=(
        (
            "<tool_calls>",
            (
                Blank(),
                Repeated((JsonValue("json", ("</tool_calls>",)), Blank())),
                Optional((Mark("</tool_calls>"),)),
            ),
        ),
    ),
    quiet=("</tool_calls>", "</think>", "<end_of_sentence>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="<tool_calls>\n", between="\n", after="\n</tool_calls>"),
)

JAMBA = TextFormat(
    name="tool_calls",
    models=(r"jamba", r"hunyuan-a13b", r"apriel"),
    evidence=f"templates of Hunyuan-A13B and Apriel 1.6; vLLM's jamba_tool_parser, {_READ}",
    openings=(("<tool_calls>", _json_steps("</tool_calls>")),),
    bare=(("[", _BARE_JSON),),
    quiet=("</tool_calls>", "</think>", "<answer>", "</answer>", "<|eos|>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="<tool_calls>[", between=", ", after="]</tool_calls>"),
)

NEMOTRON = TextFormat(
    name="nemotron",
    models=(r"nemotron-nano.*v2", r"nemotron.*v1\.5", r"nemotron"),
    evidence=f"template of Nemotron Nano v2, {_READ}",
    openings=(("<TOOLCALL>", _json_steps("</TOOLCALL>")),),
    quiet=("</TOOLCALL>", "</think>", "<SPECIAL_12>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="<TOOLCALL>[", between=", ", after="]</TOOLCALL>"),
)

PHI4 = TextFormat(
    name="phi4",
    models=(r"phi-4", r"firefunction"),
    evidence=f"vLLM's phi4mini_tool_parser; template of Phi-4-mini, {_READ}",
    openings=(
        ("functools", (JsonValue("json"),)),
        ("<|tool_call|>", _json_steps("<|/tool_call|>")),
    ),
    quiet=("<|/tool_call|>", "</think>", "<|end|>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="functools[", between=", ", after="]"),
)

INTERNLM = TextFormat(
    name="internlm",
    models=(r"internlm2", r"intern-s1"),
    evidence=f"template of InternLM 2; vLLM's internlm2_tool_parser, {_READ}",
    openings=(
        ("<|action_start|><|plugin|>", _json_steps("<|action_end|>")),
        ("<|action_start|> <|plugin|>", _json_steps("<|action_end|>")),
    ),
    bare=(("{", _BARE_JSON),),
    quiet=("<|action_end|>", "</think>", "<|im_end|>"),
    reasoning=_THINK,
    layout=Layout(call=f"<|action_start|><|plugin|>\n{_OBJECT}<|action_end|>"),
)

APERTUS = TextFormat(
    name="apertus",
    models=(r"apertus",),
    evidence=f"template of Apertus, {_READ}",
    openings=(("<|tools_prefix|>", _json_steps("<|tools_suffix|>")),),
    quiet=("<|tools_suffix|>", "<|assistant_end|>"),
    reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    layout=Layout(
        call='{{"{name}": {arguments}}}',
        before="<|tools_prefix|>[",
        between=", ",
        after="]<|tools_suffix|>",
    ),
    is_keyed_by_name=True,
)

GRANITE = TextFormat(
    name="granite",
    models=(r"granite-3",),
    evidence=f"vLLM's parser/granite.py and its template, {_READ}",
    openings=(
        ("<|tool_call|>", (Blank(), JsonValue("json"))),
        ("<tool_call>", (Blank(), JsonValue("json"))),
    ),
    bare=(("[", _BARE_JSON),),
    quiet=("</think>", "<response>", "</response>", "<|end_of_text|>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="<|tool_call|>[", between=", ", after="]"),
)

COHERE = TextFormat(
    name="cohere_command",
    models=(r"command-(r|a)", r"c4ai-command", r"aya-expanse", r"north-mini"),
    evidence=f"templates of Command R7B and Cohere2MoE; vLLM's parser/cohere_command.py, {_READ}",
    openings=(("<|START_ACTION|>", _json_steps("<|END_ACTION|>")),),
    bare=(("[", _BARE_JSON),),
    quiet=(
        "<|END_ACTION|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|END_THINKING|>",
    ),
    reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    layout=Layout(
        call='    {{"tool_call_id": "{number}", "tool_name": "{name}", "parameters": {arguments}}}',
        before="<|START_ACTION|>[\n",
        between=",\n",
        after="\n]<|END_ACTION|>",
    ),
)

_HEADER_ENDS = ("<|message|>", "\n")
_RECIPIENT: Steps = (
    TextUntil(_HEADER_ENDS, "name", excludes="{", leaves=_HEADER_ENDS),
    Blank(),  # a line end is white space here, as the blank of the template: waybarrios/vllm-mlx#50
    Optional(
        (Mark("<|constrain|>"), TextUntil(_HEADER_ENDS, "form", leaves=_HEADER_ENDS), Blank())
    ),
    Mark("<|message|>"),
    Blank(),
    JsonValue("arguments", ("<|call|>",)),
    Blank(),
    Optional((Mark("<|call|>"),)),
)
HARMONY = TextFormat(
    name="harmony",
    models=(r"gpt-oss",),
    evidence=f"openai/harmony docs/format.md of 2025-11-05; template of gpt-oss-120b, {_READ}",
    openings=(
        ("<|channel|>commentary to=", _RECIPIENT),
        ("<|channel|>analysis to=", _RECIPIENT),
        (" to=functions.", _RECIPIENT),
    ),
    quiet=(
        "<|channel|>commentary<|message|>",
        "<|channel|>final<|message|>",
        "<|start|>assistant",
        "<|end|>",
        "<|return|>",
        "<|call|>",
    ),
    reasoning=(("<|channel|>analysis<|message|>", "<|end|>"),),
    layout=Layout(
        call="<|channel|>commentary to=functions.{name} "
        "<|constrain|>json<|message|>{arguments}<|call|>",
        between="<|start|>assistant",
    ),
    name_pattern=r"(?:functions\.)?(?P<name>[a-zA-Z0-9_.-]+)(?:\s*<\|(?:constrain|channel)\|>.*|\s.*)?",
)

GIGACHAT3 = TextFormat(
    name="gigachat3",
    models=(r"gigachat3",),
    evidence=f"vLLM's gigachat3_tool_parser and its tests, {_READ_SOURCES}",
    openings=(("<|function_call|>", _json_steps()), ("function call<|role_sep|>\n", _json_steps())),
    quiet=("<|message_sep|>\n\n", "<|message_sep|>", "</s>"),
    layout=Layout(call=f"<|function_call|>{_OBJECT}", between="\n"),
)

GRANITE_20B = TextFormat(
    name="granite_20b",
    models=(r"granite-20b-functioncalling",),
    evidence=f"vLLM's granite_20b_fc_tool_parser and its template, {_READ_SOURCES}",
    openings=(("<function_call>", _json_steps()),),
    quiet=("<|endoftext|>",),
    layout=Layout(call=f"<function_call> {_OBJECT}", between="\n"),
)

LONGCAT = TextFormat(
    name="longcat",
    models=(r"longcat",),
    evidence=f"vLLM's longcat_tool_parser, {_READ}",
    openings=(("<longcat_tool_call>", _json_steps("</longcat_tool_call>")),),
    quiet=("</longcat_tool_call>", "</longcat_think>"),
    reasoning=(("<longcat_think>", "</longcat_think>"),),
    layout=Layout(call=f"<longcat_tool_call>{_OBJECT}</longcat_tool_call>", between="\n"),
)

JSON = TextFormat(
    name="json",
    models=(r"xlam", r"watt-tool"),
    evidence=f"template of xLAM; vLLM's xlam_tool_parser, {_READ_SOURCES}",
    openings=(("<tool_call>", _json_steps("</tool_call>")), ("[TOOL_CALLS]", _json_steps())),
    bare=(
        ("[", _BARE_JSON),
        ("{", _BARE_JSON),
        ("```json", (Mark("```json"), Blank(), JsonValue("json", ("```",)), Blank(), Mark("```"))),
    ),
    quiet=("</tool_call>", "</think>", "<|im_end|>", "<|eot_id|>"),
    reasoning=_THINK,
    layout=Layout(call=_OBJECT, before="[", between=", ", after="]"),
)

FORMATS: Mapping[str, TextFormat] = MappingProxyType(
    {
        text_format.name: text_format
        for text_format in (
            HERMES, QWEN3_CODER, LLAMA3_JSON, PYTHONIC, LFM2, MISTRAL_OLD, MISTRAL, DEEPSEEK_V3,
            DEEPSEEK_V31, DEEPSEEK_V32,
            GLM45, KIMI_K2, MINIMAX_M2, MINIMAX_M1, SEED_OSS, GRANITE, COHERE, HARMONY, NEMOTRON,
            PHI4, INTERNLM, APERTUS, LONGCAT,
            JAMBA, DEEPSEEK_V41, KIMI_K3, MINIMAX_M3, GEMMA4, FUNCTION_GEMMA, OLMO3, MUSE, STEP3,
            HUNYUAN, MIMO, DOTS, GIGACHAT3, GRANITE_20B,
            INVOKE, JSON,
        )
    }
)  # fmt: skip
"""All text formats, by name."""
