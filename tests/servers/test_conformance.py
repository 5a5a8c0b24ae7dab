"""The official conformance tests for tools against our server, where ``nox -s servers`` has installed them."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLACE = os.environ.get("TOOLSHAPE_CONFORMANCE", "")
TOOLS = [
    "tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
    "tools-call-mixed-content", "tools-call-error", "tools-call-with-progress",
]  # fmt: skip
SCENARIOS = {
    "2025-06-18": ["server-initialize", "ping", *TOOLS],
    "2025-11-25": ["server-initialize", "ping", *TOOLS, "json-schema-2020-12", "server-sse-multiple-streams"],
    "2026-07-28": [
        *TOOLS, "json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation",
        "dns-rebinding-protection", "server-sse-multiple-streams",
    ],
}  # fmt: skip
pytestmark = pytest.mark.skipif(not PLACE, reason="nox -s servers installs the conformance tests")


@pytest.fixture(scope="module")
def url():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "conforming.py"), str(port)]
    )
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(scenario, name) for scenario, names in SCENARIOS.items() for name in names],
)
def test_our_server_conforms(url, revision, scenario):
    place = Path(PLACE, "node_modules")
    command = [
        str(place / "node" / "bin" / "node"),
        str(place / ".bin" / "conformance"),
        "server",
        "--url",
        url,
    ]
    given = [*command, "--scenario", scenario, "--spec-version", revision]
    done = subprocess.run(given, capture_output=True, text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed", said)
    assert passed, said[-3000:]
    assert int(passed[1]) >= 1
