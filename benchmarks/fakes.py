"""Times a turn of a fake in process, and the same turn on a transport that returns one canned body.

``python benchmarks/fakes.py`` needs toolshape[sdks]. Each client makes 300 requests, with and without streaming. It
takes turns with the same client on a ``MockTransport`` that returns the bytes of the fake's answer. The difference of
the medians is what a fake costs an application's tests.
"""

import gc
import importlib
import importlib.metadata
import platform
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from commits import commit_of

import toolshape
from toolshape import Registry, tool
from toolshape.testing import Fake, Turn

TURNS = 300
SDKS = ("openai", "anthropic", "google-genai", "mistralai", "cohere")
NOWHERE = "http://fake.invalid"


@tool
def weather(city: str, days: int = 1, hourly: bool = False) -> str:
    """Say what the weather will be."""
    return f"{city} {days} {hourly}"


TOOLS = Registry([weather])
USER = [{"role": "user", "content": "How will it be in Bonn?"}]


def _openai(http: Any, stream: bool) -> Callable[[], Any]:
    client = importlib.import_module("openai").OpenAI(
        base_url=f"{NOWHERE}/v1", api_key="k", http_client=http
    )
    request = TOOLS.request("openai")
    return lambda: _consume(
        client.chat.completions.create(model="m", messages=USER, stream=stream, **request), stream
    )


def _anthropic(http: Any, stream: bool) -> Callable[[], Any]:
    client = importlib.import_module("anthropic").Anthropic(
        base_url=NOWHERE, api_key="k", http_client=http
    )
    request = TOOLS.request("anthropic")
    return lambda: _consume(
        client.messages.create(model="m", max_tokens=9, messages=USER, stream=stream, **request),
        stream,
    )


def _gemini(http: Any, stream: bool) -> Callable[[], Any]:
    genai = importlib.import_module("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": NOWHERE, "httpx_client": http})
    request = TOOLS.request("gemini")
    ask = client.models.generate_content_stream if stream else client.models.generate_content
    return lambda: _consume(ask(model="m", contents="How will it be in Bonn?", **request), stream)


def _mistral(http: Any, stream: bool) -> Callable[[], Any]:
    client = importlib.import_module("mistralai.client").Mistral(
        server_url=NOWHERE, api_key="k", client=http
    )
    request = TOOLS.request("mistral")
    ask = client.chat.stream if stream else client.chat.complete
    return lambda: _consume(ask(model="m", messages=USER, **request), stream)


def _cohere(http: Any, stream: bool) -> Callable[[], Any]:
    client = importlib.import_module("cohere").ClientV2(
        api_key="k", base_url=NOWHERE, httpx_client=http
    )
    request = TOOLS.request("cohere")
    ask = client.chat_stream if stream else client.chat
    return lambda: _consume(ask(model="m", messages=USER, **request), stream)


CLIENTS = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _mistral,
    "cohere": _cohere,
}


def _consume(response: Any, stream: bool) -> Any:
    return list(response) if stream else response


def _canned_client(fake: Fake, ask: Callable[[], Any], http: Any) -> Any:
    """Return a client with a transport that returns the bytes of a fake's answer."""
    responses: list[tuple[int, dict[str, str], bytes]] = []
    transport = fake.transport()

    def keep(request: Any) -> Any:
        response = transport.handle_request(request)
        responses.append((response.status_code, dict(response.headers), response.read()))
        return http.Response(
            response.status_code, headers=dict(response.headers), content=responses[-1][2]
        )

    client = http.Client(transport=http.MockTransport(keep))
    ask_once = ask(client)
    ask_once()
    status, headers, content = responses[-1]
    return http.Client(
        transport=http.MockTransport(
            lambda _: http.Response(status, headers=headers, content=content)
        )
    )


def measure(provider: str, stream: bool) -> tuple[float, float]:
    """Return the median milliseconds of one turn on the fake, and on the canned body."""
    make = CLIENTS[provider]
    fake = Fake(provider, TOOLS)
    fake.answers(lambda _: Turn().calls(weather, city="Bonn", days=2))
    http = importlib.import_module("httpx" if provider == "cohere" else "httpx2")
    ways = [
        make(fake.client(), stream),
        make(_canned_client(fake, lambda client: make(client, stream), http), stream),
    ]
    times: list[list[float]] = [[], []]
    for _ in range(20):
        for way in ways:
            way()
    gc.collect()
    for _ in range(TURNS):
        for way, way_times in zip(ways, times, strict=True):
            started = perf_counter()
            way()
            way_times.append((perf_counter() - started) * 1000)
    fake_median, canned_median = map(statistics.median, times)
    return fake_median, canned_median


def main() -> None:
    """Measure, print the table, and save it."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in SDKS)
    lines = [
        "# What a turn of a fake costs",
        "",
        f"`nox -s 'measure(fakes)'` on Python {platform.python_version()}, at {commit_of(Path(toolshape.__file__))}: a call with three",
        f"parameters, in process, at the median of {TURNS} turns; beside it the same client on a `MockTransport` that gives the",
        f"bytes of the fake's answer. {versions}.",
        "",
        "| client | streamed | on the fake, ms | on a canned body, ms | the fake's own, ms |",
        "|---|---|---|---|---|",
    ]
    for provider in CLIENTS:
        for stream in (False, True):
            fake_median, canned_median = measure(provider, stream)
            streamed = "yes" if stream else "no"
            lines.append(
                f"| {provider} | {streamed} | {fake_median:.2f} | {canned_median:.2f} | {fake_median - canned_median:.2f} |"
            )
    text = "\n".join(lines) + "\n"
    print(text)
    Path(__file__).parent.joinpath("results", "fakes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
