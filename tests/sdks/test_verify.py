"""``toolshape verify`` over HTTP: against fakes, and against servers that hang, lie, break off or answer with a page."""

import http.server
import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolshape._commands.cli import main
from toolshape._families import available, get
from toolshape.testing import Fake

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
        words = [provider, "--model", "probe", "--most", "12", "--json", str(path), "--url", fake.url]
        shown = run(*words, **keys(provider))
        assert "0 refuted, 0 unknown" in shown
        said = int(shown.partition(" requests")[0].rpartition(" ")[2])
        assert len(fake.exchanges) == said
        assert KEY not in path.read_text(encoding="utf-8")
        assert f"0 rules of {provider}: 0 requests" in run(*words, **keys(provider))
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
        assert "9 rules of openai" in run(*words, OPENAI_API_KEY=KEY)  # what is unknown is asked again
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_nobody_answers():
    shown = run("openai", "--model", "m", "--most", "2", "--url", "http://127.0.0.1:1", OPENAI_API_KEY=KEY)
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


def test_what_is_said_before_anything_is_sent(monkeypatch):
    shown = run("anthropic", "--model", "claude-sonnet-5", "--dry-run")
    assert "requests, about" in shown
    assert "strict: no_recursion" in shown
    assert "not asked:" in shown
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "set ANTHROPIC_API_KEY" in run("anthropic", "--model", "m", code=2)
    assert "out of reach" in run("vertex", "--model", "m", code=2)
    assert "the kinds are" in run("openai", "--model", "m", "--rules", "names", code=2)
    assert Path("found.jsonl").exists() is False
