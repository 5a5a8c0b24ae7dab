"""``toolshape verify`` over HTTP: against fakes, and against servers that hang, lie, break off or answer with a page."""

import http.server
import json
import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolshape._cli.cli import main
from toolshape._families import get
from toolshape._families.names import available
from toolshape.testing import Fake, Turn

KEY = "sk-secret-4711"
REACHED = [
    name
    for name in available()
    if ":" not in name
    and get(name).server is not None
    and get(name).histories is not None
    and get(name).server.address is not None
]


def run(*words: str, code: int = 0, **environment: str) -> str:
    result = CliRunner().invoke(main, ["verify", *words], env=environment)
    assert result.exit_code == code, result.output
    assert KEY not in result.output
    return result.output


def keys(provider: str) -> dict[str, str]:
    names = get(provider).server.address.keys
    return {names[0]: KEY} if names else {}


@pytest.mark.parametrize("provider", REACHED)
def test_the_rules_of_a_provider_are_confirmed_by_its_fake(provider, tmp_path):
    """By as many requests as are said before; the file holds each finding, and no key."""
    path = tmp_path / "found.jsonl"
    with Fake(provider) as fake:
        fake.answers(lambda _: "Yes.")
        words = [
            provider,
            "--model",
            "probe",
            "--most",
            "12",
            "--json",
            str(path),
            "--url",
            fake.url,
        ]
        shown = run(*words, **keys(provider))
        assert "0 refuted, 0 unknown" in shown
        said = int(shown.partition(" requests")[0].rpartition(" ")[2])
        assert len(fake.exchanges) == said
        assert KEY not in path.read_text(encoding="utf-8")
        assert f"0 rules for {provider}: 0 requests" in run(*words, **keys(provider))
        assert len(fake.exchanges) == said


class _Odd(http.server.BaseHTTPRequestHandler):
    """Answers each request in another way that says nothing."""

    answers = (
        (200, "text/html", b"<html>Hello</html>"), (500, "application/json", b"{}"), (429, "application/json", b'{"error": "slow"}'),
        (401, "application/json", json.dumps({"error": f"wrong key {KEY}"}).encode()), (200, "application/json", b"[" * 20000),
        None,
    )  # fmt: skip
    count = 0

    def do_POST(self) -> None:
        answer = self.answers[type(self).count % len(self.answers)]
        type(self).count += 1
        if answer is None:
            self.connection.close()
            return
        status, kind, body = answer
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_a_server_that_answers_oddly_says_nothing(tmp_path):
    """Each rule is unknown, whatever comes; and nothing that comes back shows the key."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Odd)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url, path = f"http://127.0.0.1:{server.server_address[1]}", tmp_path / "found.jsonl"
        words = ["openai", "--model", "m", "--most", "9", "--url", url, "--json", str(path)]
        assert "0 confirmed, 0 refuted, 9 unknown" in run(*words, OPENAI_API_KEY=KEY)
        assert KEY not in path.read_text(encoding="utf-8")
        assert "9 rules for openai" in run(
            *words, OPENAI_API_KEY=KEY
        )  # what is unknown is asked again
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_nobody_answers():
    shown = run(
        "openai", "--model", "m", "--most", "2", "--url", "http://127.0.0.1:1", OPENAI_API_KEY=KEY
    )
    assert "2 unknown" in shown
    assert "ConnectError" in shown


def test_a_rule_that_does_not_hold_is_refuted_and_drift_is_named(tmp_path):
    """A server that takes everything: an old file of its fake's confirmations differs."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    common = ["--model", "probe", "--rules", "strict", "--most", "4"]
    with Fake("openai") as fake:
        fake.answers(lambda _: "Yes.")
        run("openai", *common, "--json", str(old), "--url", fake.url, OPENAI_API_KEY=KEY)
    with Fake("llama-cpp") as lenient:
        lenient.answers(lambda _: "Yes.")
        words = ["openai", *common, "--json", str(new), "--against", str(old), "--url", lenient.url]
        shown = run(*words, code=1, OPENAI_API_KEY=KEY)
    assert "4 refuted" in shown
    assert shown.count("confirmed -> refuted") == 4


def answering(asked):
    """A model that does what it is asked: calls what it must, with arguments that fit."""
    body = asked.request
    choice, tools = body.get("tool_choice"), body.get("tools") or []
    text = body["messages"][-1]["content"]
    if choice == "none" or not tools or (choice is None and "weather" not in text):
        return "Hello."
    if isinstance(choice, dict):
        name = choice["function"]["name"]
        return Turn().invents(name, {"room": 3} if name == "book" else {"city": "Rome", "days": 2})
    turn = Turn().invents("weather", {"city": "Bonn", "days": 2})
    is_one = body.get("parallel_tool_calls") is False or "both" not in text
    return turn if is_one else turn.invents("weather", {"city": "Rome", "days": 2})


def endpoint(fake, *words, code=0):
    return run("--endpoint", f"{fake.url}/v1", "--model", "m", "--timeout", "5", *words, code=code)


def test_a_server_that_behaves(tmp_path):
    path = tmp_path / "seen.jsonl"
    with Fake("vllm") as fake:
        fake.answers(answering)
        shown = endpoint(fake, "--json", str(path))
        assert "10 confirmed, 0 refuted, 0 unknown" in shown, shown
    assert len(path.read_text(encoding="utf-8").splitlines()) == 10


@pytest.mark.parametrize(
    ("answer", "refuted"),
    [
        (lambda _: "Hello.", {"a required call comes", "a named tool is called", "one call at a time, if asked for",
                              "each call has an id of its own", "strict arguments fit the schema", "a response ends by tool_calls or stop"}),
        (lambda _: Turn().invents("weather", {"city": "Oslo", "days": 1}).invents("weather", {"city": "Oslo", "days": 1}),
         {"a named tool is called", "no tool is called if none may be", "one call at a time, if asked for",
          "strict arguments fit the schema", "a response ends by tool_calls or stop"}),
    ],
)  # fmt: skip
def test_a_server_that_does_not_behave(answer, refuted):
    with Fake("vllm") as fake:
        fake.answers(answer)
        shown = endpoint(fake, code=1)
        assert {
            line.split(": ")[1] for line in shown.splitlines() if line.startswith("refuted")
        } == refuted


def test_a_server_without_a_parser_of_calls():
    with Fake("vllm", text="hermes") as fake:
        fake.answers(answering)
        shown = endpoint(fake, code=1)
        assert "refuted: no call is left in the text" in shown
        assert "hermes" in shown


def test_a_server_that_is_none():
    with Fake("anthropic") as fake:
        fake.answers(lambda _: "Hello.")
        assert "0 refuted, 10 unknown" in endpoint(fake)
    assert "10 unknown" in run("--endpoint", "http://127.0.0.1:1/v1", "--model", "m")
    assert "set the environment variable NO_SUCH_KEY" in run(
        "--endpoint", "http://127.0.0.1:1", "--model", "m", "--key", "NO_SUCH_KEY", code=2
    )
    assert "pass a PROVIDER, or --endpoint" in run("--model", "m", code=2)


def test_a_server_that_hangs():
    """An answer that does not come in time says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        words = ["openai", "--model", "m", "--most", "1", "--timeout", "0.3", "--url", url]
        assert "ReadTimeout" in run(*words, OPENAI_API_KEY=KEY)


def test_what_is_said_before_anything_is_sent(monkeypatch):
    shown = run("anthropic", "--model", "claude-sonnet-5", "--dry-run")
    assert "requests, about" in shown
    assert "strict: no_recursion" in shown
    assert "not tested:" in shown
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "set ANTHROPIC_API_KEY" in run("anthropic", "--model", "m", code=2)
    assert "cannot send requests to" in run("vertex", "--model", "m", code=2)
    assert "the kinds are" in run("openai", "--model", "m", "--rules", "names", code=2)
    assert Path("found.jsonl").exists() is False


class Engine(http.server.BaseHTTPRequestHandler):
    """A server that refuses patterns, and answers everything else with one value; a list is never finished.

    It fails over what its model wrote under one keyword.
    """

    fails_over = '"multipleOf"'

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        schema = json.dumps(body["response_format"])
        choice = {
            "message": {"content": '{"v": true}'},
            "finish_reason": "length" if "minItems" in schema else "stop",
        }
        said = json.dumps({"choices": [choice]}).encode()
        status = 500 if self.fails_over in schema else 200
        self.send_response(400 if '"pattern"' in schema else status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Print nothing."""


def test_what_a_server_keeps_of_a_schema(tmp_path):
    """Refused, kept, not kept, or not known; and a line of JSON for each keyword."""
    path = tmp_path / "kept.jsonl"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        shown = run("--endpoint", address, "--model", "m", "--keywords", "--json", str(path))
        server.shutdown()
    for line in (
        "refused: pattern, anchored",
        "kept: a list of types",
        "not kept: enum",
        "not kept: multipleOf",
        "not known: minItems",
    ):
        assert f"{line}\n" in shown
    found = {line["keyword"]: line for line in map(json.loads, path.read_text().splitlines())}
    assert (found["enum"]["accepted"], found["enum"]["kept"]) == (True, False)
    assert (found["pattern, anchored"]["accepted"], found["pattern, anchored"]["kept"]) == (
        False,
        None,
    )


class BrokenEngine(Engine):
    fails_over = ""


def test_keywords_are_of_a_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), BrokenEngine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        said = run("--endpoint", address, "--model", "m", "--keywords", code=2)
        server.shutdown()
    assert "does not answer" in said
    assert "--endpoint" in run("openai", "--model", "m", "--keywords", code=2)
    said = run("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--keywords", code=2)
    assert "does not answer" in said
