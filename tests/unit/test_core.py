"""The core works with pydantic and docstring-parser alone: what needs an extra says so when it is used."""

import subprocess
import sys

EXTRAS = ["jsonschema", "jsonschema_specifications", "referencing", "click", "rich", "sqlalchemy", "json5", "mcp", "opentelemetry", "hypothesis", "httpx"]  # fmt: skip
SCRIPT = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None  # importing it raises ImportError
import toolshape
for name in toolshape.__all__:
    getattr(toolshape, name)
import toolshape.evals, toolshape.messages, toolshape.provider, toolshape.testing, toolshape.text, toolshape.trace

@toolshape.tool
def add(a: int, b: int = 1) -> int:
    return a + b

tools = toolshape.Registry([add])
for provider in ("openai", "anthropic", "gemini", "mcp", "text:hermes"):
    bound = tools.bind(provider)
    message = bound.calls_as_messages([("add", {{"a": "1"}})])[-1]
    assert bound.dispatch(message)[0].value == 2
chat = toolshape.Conversation(tools)
chat.user("What is 1 and 1?")
chat.request("openai")
error = {{"error": {{"message": "Invalid schema for function 'add'", "code": "invalid_function_parameters"}}}}
assert toolshape.explain(error, tools.bind("openai"))
for use in (
    lambda: toolshape.Tool.from_definition({{"name": "t", "inputSchema": {{"type": "object"}}}}),
    lambda: toolshape.Registry().add_definitions([{{"name": "t", "inputSchema": {{"type": "object"}}}}]),
):
    try:
        use()
    except ImportError as error:
        assert "pip install 'toolshape[schema]'" in str(error), error
    else:
        raise AssertionError("it needs the extra")
"""


def test_the_core_needs_no_extra() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
