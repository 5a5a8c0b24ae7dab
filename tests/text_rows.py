"""Texts that open models write, after the threads named: the format, the text, and the calls that are in it."""

from typing import Any, NamedTuple

SCHEMAS: dict[str, Any] = {
    "weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "deep": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "until": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    },
    "write": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    },
    "now": {"type": "object", "properties": {}},
}
"""The schemas of the tools in the rows."""

CALLS_BEGIN, CALLS_END = (
    "<\uff5ctool\u2581calls\u2581begin\uff5c>",
    "<\uff5ctool\u2581calls\u2581end\uff5c>",
)
CALL, CALL_END = "<\uff5ctool\u2581call\u2581begin\uff5c>", "<\uff5ctool\u2581call\u2581end\uff5c>"
SEP = "<\uff5ctool\u2581sep\uff5c>"
DSML = "\uff5cDSML\uff5c"
TAG = "]<]minimax[>["


class Row(NamedTuple):
    """A text of a model; ``calls`` as names and arguments, ``text`` what is left around them, ``cut`` if the last is cut off."""

    about: str
    format: str
    text: str
    calls: list[tuple[str, Any]]
    left: str = ""
    reasoning: str = ""
    is_cut: bool = False


ROWS = [
    Row("vllm#22885", "hermes", '<tool_call>\n{"name": "weather", "arguments": {"days": 3, "deep": true}}\n</tool_call>', [("weather", {"days": 3, "deep": True})]),
    Row("vllm#28806", "hermes", '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>', [("now", {})]),
    Row("vllm#9693", "hermes", '<tool_call>\n{"arguments": {"days": 2}, "name": "weather"}\n</tool_call>', [("weather", {"days": 2})]),
    Row("vllm#21544", "hermes", '<tool_call>{"name": "write", "arguments": {"content": "mkdir -p {a,b"}}</tool_call>', [("write", {"content": "mkdir -p {a,b"})]),
    Row("vllm#17161", "hermes", '{"name": "weather", "arguments": {"city": "\u5317\u4eac"}}', [("weather", {"city": "\u5317\u4eac"})]),
    Row("llama.cpp#12153", "hermes", '<tool_call>\n{"name": "now", "arguments": {}}\n<tool_call>\n{"name": "weather", "arguments": {"city": "a"}}\n</tool_call>', [("now", {}), ("weather", {"city": "a"})]),
    Row("vllm#35948", "hermes", '<tool_call>\n{"name": "weather", "arguments": "{\\"city\\": \\"a\\"}"}\n</tool_call>', [("weather", '{"city": "a"}')]),
    Row("a bracket is missing", "hermes", '<tool_call>\n{"name": "weather", "arguments": {"city": "a"}\n</tool_call>\n<tool_call>{"name": "now", "arguments": {}}</tool_call>', [("weather", '{"city": "a"}'), ("now", {})]),
    Row("the end of the text", "hermes", 'Wait. <tool_call>\n{"name": "weather", "arguments": {"city": "Par', [("weather", '{"city": "Par')], "Wait. ", is_cut=True),
    Row("before the name", "hermes", '<tool_call>\n{"nam', [], '<tool_call>\n{"nam'),
    Row("reasoning", "hermes", '<think>I could <tool_call>{"name": "now", "arguments": {}}</tool_call></think>No.', [], "No.", 'I could <tool_call>{"name": "now", "arguments": {}}</tool_call>'),
    Row("a mark where a name should be", "minimax_m2", "<invoke name=[e~[<", [], "<invoke name=[e~[<"),
    Row("prose", "hermes", "Write <tool_call> and then the call.", [], "Write <tool_call> and then the call."),
    Row("an answer in JSON", "hermes", '{"name": "Ada", "age": 36}', [], '{"name": "Ada", "age": 36}'),
    Row("ollama#16686", "qwen3_coder", "I look.\n\n<function=weather>\n<parameter=city>\n*.md\n</parameter>\n</function>\n</tool_call>", [("weather", {"city": "*.md"})], "I look.\n\n"),
    Row("ollama#12751", "qwen3_coder", "First:\n\n<function=now>\n</function>\n</tool_call>", [("now", {})], "First:\n\n"),
    Row("ollama PR#16398", "qwen3_coder", "Such a call begins with `<function=weather>` and holds a `<parameter>`.", [], "Such a call begins with `<function=weather>` and holds a `<parameter>`."),
    Row("llama.cpp#24644", "qwen3_coder", "<tool_call>\n<function=write>\n<parameter=content>\n{\n}\n\n</parameter>\n<parameter=path>\n/x\n</parameter>\n</function>\n</tool_call>", [("write", {"content": "{\n}\n", "path": "/x"})]),
    Row("a tag is missing", "qwen3_coder", "<tool_call>\n<function=write>\n<parameter=content>\na\n<parameter=path>\n/x\n</parameter>\n</function>\n</tool_call>", [("write", {"content": "a", "path": "/x"})]),
    Row("types by the schema", "qwen3_coder", "<tool_call>\n<function=weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n<parameter=deep>\nTrue\n</parameter>\n<parameter=tags>\n['a', \"b\"]\n</parameter>\n<parameter=until>\nNone\n</parameter>\n</function>\n</tool_call>", [("weather", {"city": "5", "days": 5, "deep": True, "tags": ["a", "b"], "until": None})]),
    Row("a value quotes its end", "qwen3_coder", "<tool_call>\n<function=write>\n<parameter=content>\nprint('</parameter>') # < {\n</parameter>\n</function>\n</tool_call>", [("write", {"content": "print('</parameter>') # < {"})]),
    Row("MiMo writes no line ends", "qwen3_coder", "<tool_call><function=write><parameter=content>a\n</parameter></function></tool_call>", [("write", {"content": "a\n"})]),
    Row("no warning of Python's", "qwen3_coder", "<tool_call><function=weather><parameter=days>1if 2 else 3</parameter></function></tool_call>", [("weather", {"days": "1if 2 else 3"})]),
    Row("the template of Seed-OSS", "seed_oss", "<seed:think>hm</seed:think><seed:tool_call>\n<function=weather>\n<parameter=city>a\n</parameter>\n<parameter=tags>['x']</parameter>\n</function>\n</seed:tool_call>", [("weather", {"city": "a\n", "tags": ["x"]})], "", "hm"),
    Row("vllm#46863", "llama3_json", '{"type": "function", "name": "weather", "parameters": {"city": "a", "days": 1}}', [("weather", {"city": "a", "days": 1})]),
    Row("vllm#16214", "llama3_json", '<|python_start|>{"name": "weather", "parameters": {"city": "a"}}<|python_end|>', [("weather", {"city": "a"})]),
    Row("several", "llama3_json", '<|python_tag|>{"name": "now", "parameters": {}}; {"name": "weather", "parameters": {"days": 1}}', [("now", {}), ("weather", {"days": 1})]),
    Row("vllm#22917", "pythonic", '[now(), weather(city="Dublin, Ireland", days=-1, deep=True, tags=["a", \'b\'], until=None)]', [("now", {}), ("weather", {"city": "Dublin, Ireland", "days": -1, "deep": True, "tags": ["a", "b"], "until": None})]),
    Row("JSON's constants", "pythonic", "[weather(deep=true, until=null)]", [("weather", {"deep": True, "until": None})]),
    Row("nothing is evaluated", "pythonic", "[weather(city=__import__('os').getcwd())]", [("weather", "[weather(city=__import__('os').getcwd())]")]),
    Row("the end of a list", "pythonic", "[weather(city='Par", [("weather", "[weather(city='Par")], is_cut=True),
    Row("a list of something else", "pythonic", "[1, 2] are numbers", [], "[1, 2] are numbers"),
    Row("vllm#48171", "lfm2", "<|tool_call_start|>[write(content='a ] \\'b\\'', path=\"x\")]<|tool_call_end|>", [("write", {"content": "a ] 'b'", "path": "x"})]),
    Row("mlx-lm#1374", "mistral", '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "2+3"}}]', [("weather", {"city": "2+3"})]),
    Row("mlx-lm#1307", "mistral", '[TOOL_CALLS]weather[ARGS]{"city":"Paris"}[TOOL_CALLS]now[ARGS]{}', [("weather", '{"city":"Paris"}'), ("now", "{}")]),
    Row("vllm#30651", "mistral", '[TOOL_CALLS]write{"path": "/x", "content": "}"}', [("write", '{"path": "/x", "content": "}"}')]),
    Row("vllm#48975", "mistral", '[TOOL_CALLS]weather{"city":"a"}Estimating...', [("weather", '{"city":"a"}')], "Estimating..."),
    Row("Small 3.2", "mistral", 'Hm.[TOOL_CALLS]weather[CALL_ID]abcdefgh0[ARGS]{"days": 1}', [("weather", '{"days": 1}')], "Hm."),
    Row("triton PR#8772", "mistral_old", ' [{"name": "now", "arguments": {}, "id": "abcdefgh0"}]', [("now", {})], " "),
    Row("vllm PR#48367", "deepseek_v3", CALLS_BEGIN + "nothing", [], "nothing"),
    Row("Rapid-MLX PR#795", "deepseek_v3", f'{CALLS_BEGIN}{CALL}function{SEP}weather\n```json\n{{"city": "Tokyo"}}\n```{CALL_END}{CALLS_END}', [("weather", '{"city": "Tokyo"}')]),
    Row("the fence without a line end", "deepseek_v3", f'{CALL}function{SEP}weather\n```json\n{{"days": 1}}```{CALL_END}', [("weather", '{"days": 1}')]),
    Row("text before", "deepseek_v31", f'I look.{CALLS_BEGIN}{CALL}now{SEP}{{}}{CALL_END}{CALL}weather{SEP}{{"days": 1}}{CALL_END}{CALLS_END}', [("now", "{}"), ("weather", '{"days": 1}')], "I look."),
    Row("vllm#48931", "deepseek_v32", f'<{DSML}invoke name="weather">\n<{DSML}parameter name="city" string="true">5</{DSML}parameter>\n<{DSML}parameter name="days" string="false">5</{DSML}parameter>\n</{DSML}invoke>\n</{DSML}tool_calls>', [("weather", {"city": "5", "days": 5})]),
    Row("vllm#44326", "glm45", "<tool_call>now</tool_call>", [("now", {})]),
    Row("mlx-lm#607", "glm45", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>**/x.md</arg_value>\n</tool_call>", [("weather", {"city": "**/x.md"})]),
    Row("frontend-crates#215", "glm45", '<tool_call>weather<arg_key>city</arg_key><arg_value>{"k": 1}</arg_value><arg_key>days</arg_key><arg_value>10</arg_value><arg_key>tags</arg_key><arg_value>[]</arg_value></tool_call>', [("weather", {"city": '{"k": 1}', "days": 10, "tags": []})]),
    Row("JSON is another format's", "glm45", '<tool_call>{"name": "now", "arguments": {}}</tool_call>', [], '<tool_call>{"name": "now", "arguments": {}}</tool_call>'),
    Row("Kimi-K2#89", "kimi_k2", 'Hm <|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"days": 1}<|tool_call_end|><|tool_calls_section_end|>', [("weather", '{"days": 1}')], "Hm "),
    Row("llama.cpp#24658", "kimi_k2", '<|tool_call_begin|>functions_write_2<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|>', [("write", '{"path": "a"}')]),
    Row("vllm PR#38441", "kimi_k2", "<|tool_call_begin|>functions.now:0\n<|tool_call_argument_begin|>{}<|tool_call_end|>", [("now", "{}")]),
    Row("MiniMax-M2.5#10", "minimax_m2", '<minimax:tool_call>\n  <invoke name="write">\n    <parameter name="path">ls</parameter>\n  </invoke>\n</minimax:tool_call>', [("write", {"path": "ls"})], "\n  "),
    Row("frontend-crates#245", "minimax_m2", '<minimax:tool_call><invoke name="weather"><parameter name="city">M </minimax:tool_call> c</parameter></invoke></minimax:tool_call>', [("weather", {"city": "M </minimax:tool_call> c"})]),
    Row("JSON lines", "minimax_m1", '<tool_calls>\n{"name": "now", "arguments": {}}\n{"name": "weather", "arguments": {"days": 1}}\n</tool_calls>', [("now", {}), ("weather", {"days": 1})]),
    Row("vllm#11402", "granite", '<tool_call>[{"name": "now", "arguments": {}}] done', [("now", {})], " done"),
    Row("the template of Command R7B", "cohere_command", '<|START_THINKING|>p<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "weather", "parameters": {"days": 1}}\n]<|END_ACTION|>', [("weather", {"days": 1})], "", "p"),
    Row("vllm#32587", "harmony", '<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"days": 1}<|call|>', [("weather", '{"days": 1}')], "", "Need it."),
    Row("the recipient first", "harmony", ' to=functions.weather<|channel|>commentary json<|message|>{"days": 1}', [("weather", '{"days": 1}')]),
    Row("vllm#23694", "harmony", '<|channel|>final<|message|>{"issues":[]}<|return|>', [], '{"issues":[]}'),
    Row("the template of Nemotron Nano v2", "nemotron", '<TOOLCALL>[{"name": "weather", "arguments": {"days": 1}}, {"name": "now", "arguments": {}}]</TOOLCALL>', [("weather", {"days": 1}), ("now", {})]),
    Row("a list inside", "phi4", 'functools[{"name": "weather", "arguments": {"tags": ["a]"]}}]', [("weather", {"tags": ["a]"]})]),
    Row("the template of InternLM", "internlm", '<|action_start|><|plugin|>\n{"name": "weather", "parameters": {"days": 1}}<|action_end|>', [("weather", {"days": 1})]),
    Row("the name is the key", "apertus", '<|tools_prefix|>[{"weather": {"days": 1}}, {"now": {}}]<|tools_suffix|>', [("weather", {"days": 1}), ("now", {})]),
    Row("vLLM's longcat_tool_parser", "longcat", '<longcat_tool_call>{"name": "now", "arguments": {}}</longcat_tool_call>', [("now", {})]),
    Row("the template of Hunyuan", "tool_calls", '<tool_calls>[{"name": "now", "arguments": {}}]</tool_calls>', [("now", {})]),
    Row("Active Agent#435", "invoke", '<function_calls>\n<invoke name="weather">\n<parameter name="city">Paris</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n</function_calls>', [("weather", {"city": "Paris", "days": 3})]),
    Row("vLLM's tests of llama3_json", "llama3_json", '{"name": "weather", "parameters": {"city": "a"}} ; {"name": "now", "parameters": {}} ; {"name": "now", "parameters": {}}', [("weather", {"city": "a"}), ("now", {}), ("now", {})]),
    Row("a quoted brace, cut off", "gemma4", '<|tool_call>call:weather{city:<|"|>Par }', [("weather", '{city:<|"|>Par }')], is_cut=True),
    Row("vLLM's tests of minimax_m3", "minimax_m3", f'{TAG}<invoke name="weather">{TAG}<days>1{TAG}</days>{TAG}<city>Par', [("weather", {"days": 1})], is_cut=True),
    Row("vLLM's tests of deepseek_v32: no end of the call", "deepseek_v32", f'<{DSML}function_calls>\n<{DSML}invoke name="weather">\n<{DSML}parameter name="city" string="true">v</{DSML}parameter>\n</{DSML}function_calls>Done.', [("weather", {"city": "v"})], "Done."),
    Row("vLLM's tests of deepseek_v32: no end of a value", "deepseek_v32", f'<{DSML}invoke name="weather"><{DSML}parameter name="city" string="true">a<b><{DSML}parameter name="days" string="false">5</{DSML}parameter></{DSML}invoke>', [("weather", {"city": "a<b>", "days": 5})]),
    Row("vLLM's tests of deepseek_v32: all in one", "deepseek_v32", f'<{DSML}invoke name="weather">\n<{DSML}parameter name="arguments" string="false">{{"city": "a"}}</{DSML}parameter>\n</{DSML}invoke>', [("weather", {"city": "a"})]),
    Row("no end of the call", "qwen3_coder", "<tool_call>\n<function=weather>\n<parameter=city>\na\n</parameter>\n</tool_call>", [("weather", {"city": "a"})]),
    Row("vLLM's tests of lfm2: line ends", "lfm2", "<|tool_call_start|>[write(content='a\nb \\'c\\'', path='07')]<|tool_call_end|>", [("write", {"content": "a\nb 'c'", "path": "07"})]),
    Row("vLLM's tests of lfm2: zeros", "lfm2", "<|tool_call_start|>[weather(days=07)]<|tool_call_end|>", [("weather", {"days": 7})]),
    Row("vLLM's tests of lfm2: the call again", "lfm2", "<|tool_call_start|>[now()]<|tool_call_end|>[now()]<|tool_call_end|>", [("now", {})], "[now()]"),
    Row("vLLM's tests of kimi_k3: entities", "kimi_k3", '<|open|>call tool="a&amp;b&quot;c" index="1"<|sep|><|open|>argument key="k&amp;q" type="string"<|sep|>&amp;<|close|>argument<|sep|><|close|>call<|sep|>', [('a&b"c', {"k&q": "&amp;"})]),
    Row("vLLM's tests of apertus", "apertus", '<|tools_prefix|>[{"now": {}}, {"weather": {"city": "London"}', [("now", {}), ("weather", '{"city": "London"}')], is_cut=True),
    Row("vLLM's tests of mistral", "mistral", '[TOOL_CALLS]{"name": "weather", "arguments": {"days": 1}}', [("weather", {"days": 1})]),
    Row("vLLM's tests of xlam", "json", 'I look.<tool_call>[{"name": "weather", "arguments": {"days": 1}}]</tool_call>', [("weather", {"days": 1})], "I look."),
    Row("vLLM's tests of dots", "dots", '<dots_function_call><invoke name="weather"><parameter name="city">5</parameter></invoke><invoke name="now"></invoke></dots_function_call><dots_function_call>{"name": "weather", "arguments": {"days": 1}}</dots_function_call>', [("weather", {"city": "5"}), ("now", {}), ("weather", {"days": 1})]),
    Row("vLLM's tests of muse", "muse", 'to=now.now<|message|><atem:function_calls><atem:invoke name="weather.weather"><atem:parameter name="days">25</atem:parameter></atem:invoke></atem:function_calls><|eot|>', [("weather", {"days": 25})]),
    Row("vLLM's tests of mimo", "mimo", "<tool_call><function=write><parameter=content>\nx &amp;\n</parameter></function></tool_call>", [("write", {"content": "\nx &amp;\n"})]),
    Row("vLLM's parser/deepseek_v41", "deepseek_v41", f'Hm.<{DSML} calls>\n<{DSML} invoke name="weather">\n<{DSML} parameter name="city" string="true">5</{DSML} parameter>\n<{DSML} parameter name="days" string="false">5</{DSML} parameter>\n</{DSML} invoke>\n</{DSML} calls>', [("weather", {"city": "5", "days": 5})], "Hm."),
    Row("sigit#92", "kimi_k3", '<|open|>think<|sep|>Hm<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="weather" index="1"<|sep|><|open|>argument key="days" type="number"<|sep|>5<|close|>argument<|sep|><|open|>argument key="city" type="string"<|sep|>5<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="now" index="2"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>', [("weather", {"days": 5, "city": "5"}), ("now", {})], "I look.", "Hm"),
    Row("an answer without a call", "kimi_k3", "<|open|>response<|sep|>Done.<|close|>response<|sep|><|close|>message<|sep|>", [], "Done."),
    Row("cut off in a value", "kimi_k3", '<|open|>call tool="weather" index="1"<|sep|><|open|>argument key="days" type="number"<|sep|>1<|close|>argument<|sep|><|open|>argument key="city" type="string"<|sep|>Par', [("weather", {"days": 1})], is_cut=True),
    Row("mlx-lm#1416", "minimax_m3", f'I look.{TAG}<tool_call>\n{TAG}<invoke name="weather">\n{TAG}<city>Paris{TAG}</city>\n{TAG}<days>3{TAG}</days>\n{TAG}</invoke>\n{TAG}</tool_call>\n', [("weather", {"city": "Paris", "days": 3})], "I look."),
    Row("lists and empty elements", "minimax_m3", f'{TAG}<invoke name="weather">{TAG}<tags>{TAG}<item>5{TAG}</item>{TAG}<item>b{TAG}</item>{TAG}</tags>{TAG}<city>{TAG}</city>{TAG}<until>null{TAG}</until>{TAG}</invoke>{TAG}<invoke name="weather">{TAG}<tags>{TAG}</tags>{TAG}</invoke>', [("weather", {"tags": ["5", "b"], "city": "", "until": None}), ("weather", {"tags": []})]),
    Row("mlxcel#793", "minimax_m3", f'{TAG}<invoke name="weather">{TAG}<tags>a{TAG}</tags>{TAG}<tags>b{TAG}</tags>{TAG}</invoke>', [("weather", {"tags": ["a", "b"]})]),
    Row("vllm-ascend#12815", "minimax_m3", f'{TAG}<invoke name="now">{TAG}<-A>1{TAG}</-A>{TAG}</invoke>', [("now", {"-A": 1})]),
    Row("frontend-crates#83", "minimax_m3", f'{TAG}<tool_call>{TAG}<invoke name="weather">{TAG}<city>Par', [("weather", {})], is_cut=True),
    Row("a tag is not closed", "minimax_m3", f'{TAG}<invoke name="weather">{TAG}<city>Paris{TAG}</invoke>', [("weather", f"{TAG}<city>Paris")]),
    Row("the template of Gemma 4", "gemma4", '<|channel>thought\nHm.\n<channel|>I look.<|tool_call>call:weather{city:<|"|>a, {b}<|"|>,days:3,tags:[<|"|>x<|"|>,<|"|>]<|"|>],until:null}<tool_call|><|tool_call>call:now{}<tool_call|><turn|>', [("weather", {"city": "a, {b}", "days": 3, "tags": ["x", "]"], "until": None}), ("now", {})], "I look.", "\nHm.\n"),
    Row("Rapid-MLX#1102", "gemma4", '<|tool_call>call:write{content:{message:<|"|>How } are<|"|>,deep:{a:[]}},path:<|"|>x<|"|>}<tool_call|>', [("write", {"content": {"message": "How } are", "deep": {"a": []}}, "path": "x"})]),
    Row("sglang#39240", "gemma4", '<|tool_call>call:weather{city:Paris, France<|"|>,days:5}<tool_call|>', [("weather", {"city": "Paris, France", "days": 5})]),
    Row("no quotes", "gemma4", "<|tool_call>call:weather{city:Paris,deep:true}<tool_call|>", [("weather", {"city": "Paris", "deep": True})]),
    Row("vLLM's test without call", "gemma4", '<|tool_call>:weather{city:<|"|>a<|"|>}<tool_call|>', [("weather", {"city": "a"})]),
    Row("no braces", "gemma4", "<|tool_call>call:weather without<tool_call|>", [], "<|tool_call>call:weather without"),
    Row("the end of the text", "gemma4", '<|tool_call>call:weather{city:<|"|>Par', [("weather", '{city:<|"|>Par')], is_cut=True),
    Row("ai.google.dev, functiongemma", "functiongemma", "<start_function_call>call:weather{city:<escape>San {Jose}<escape>,days:2}<end_function_call><start_function_response>", [("weather", {"city": "San {Jose}", "days": 2})]),
    Row("vLLM's olmo3_tool_parser", "olmo3", "Hm.<function_calls>weather(city='a\\n)', days=3, deep=true)\nnow()</function_calls>", [("weather", {"city": "a\n)", "days": 3, "deep": True}), ("now", {})], "Hm."),
    Row("prose", "olmo3", "It begins with <function_calls> and then lists calls.", [], "It begins with <function_calls> and then lists calls."),
    Row("the end of the text", "olmo3", "<function_calls>now()\nweather(city='Par", [("now", {}), ("weather", "weather(city='Par")], is_cut=True),
    Row("the template of Muse Glimmer", "muse", ' to=self<|message|>Such a call is <atem:invoke name="now">.<|eom|><|start|>assistant to=commentary<|message|>I look.<|eom|><|start|>assistant to=weather<|message|><atem:function_calls>\n<atem:invoke name="weather">\n<atem:parameter name="city">5</atem:parameter>\n<atem:parameter name="days">5</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=now<|message|><atem:function_calls>\n<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls><|eot|>', [("weather", {"city": "5", "days": 5}), ("now", {})], "I look.", 'Such a call is <atem:invoke name="now">.'),
    Row("the first message is a call", "muse", ' to=now<|message|><atem:function_calls>\n<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls><|eot|>', [("now", {})]),
    Row("an answer", "muse", " to=user<|message|>Done.<|eot|>", [], "Done."),
    Row("vLLM's tests of step3", "step3", '<\uff5ctool_calls_begin\uff5c><\uff5ctool_call_begin\uff5c><steptml:invoke name="weather"><steptml:parameter name="city">Tokyo</steptml:parameter><steptml:parameter name="days">42</steptml:parameter></steptml:invoke><\uff5ctool_call_end\uff5c><\uff5ctool_sep\uff5c><\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c><steptml:invoke name="now"></steptml:invoke><\uff5ctool_call_end\uff5c><\uff5ctool_calls_end\uff5c>', [("weather", {"city": "Tokyo", "days": 42}), ("now", {})]),
    Row("vLLM's tests of hy_v3", "hunyuan", "<think>Hm</think>Ok.<tool_calls>\n<tool_call>now<tool_sep>\n</tool_call>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>a</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n</tool_calls>", [("now", {}), ("weather", {"city": "a", "days": 2})], "Ok.", "Hm"),
    Row("GigaChat 3", "gigachat3", 'Ok.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "weather", "arguments": {"days": 1}}', [("weather", {"days": 1})], "Ok."),
    Row("GigaChat 3.1", "gigachat3", '<|function_call|>{"name": "now", "arguments": {}}', [("now", {})]),
    Row("vLLM's granite_20b_fc_tool_parser", "granite_20b", '<function_call> {"name": "weather", "arguments": {"days": 1}}\n<function_call> {"name": "now", "arguments": {}}', [("weather", {"days": 1}), ("now", {})]),
    Row("ollama#13519", "json", '```json\n{"name": "weather", "parameters": {"city": "a"}}\n```', [("weather", {"city": "a"})]),
    Row("the template of xLAM", "json", '[{"name": "weather", "arguments": {"days": 1}}, {"name": "now", "arguments": {}}]', [("weather", {"days": 1}), ("now", {})]),
]  # fmt: skip
