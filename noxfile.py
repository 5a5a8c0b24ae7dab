"""A session per intent; ``nox -s functions`` needs the corpora, the others nothing but the package."""

import json
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "tests", "lowest"]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
LOWEST = ["pydantic==2.14.2", "json5==0.12.0", "docstring-parser==0.17.0"]
BESIDE_LOWEST = [
    "anthropic", "botocore", "groq", "llguidance", "mcp", "mistralai", "ollama", "openai", "pytest", "sybil",
]  # fmt: skip
PEERS = [
    "anthropic", "fastmcp", "google-genai", "langchain-core", "mcp", "mirascope", "openai-agents", "polytools",
    "pydantic-ai-slim", "toolschema",
]  # fmt: skip
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


@nox.session
def lint(session: nox.Session) -> None:
    session.install(".[lint]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    session.install(".[types]")
    session.run("mypy")
    session.run("pyright")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    session.install("--editable", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python="3.10")
def lowest(session: nox.Session) -> None:
    # google-genai asks for a newer pydantic than we do; its tests skip here.
    session.install("--editable", ".[cli,schema,repair,testing]", *LOWEST, *BESIDE_LOWEST)
    session.run("python", "-m", "pytest", *session.posargs, env={"TOOLSHAPE_EXAMPLES": "1"})


@nox.session(python=PYTHONS)
def benchmarks(session: nox.Session) -> None:
    # Every peer beside us in one environment; the tables of all Pythons are saved in benchmarks/results.
    session.install(".", *PEERS)
    session.run("python", "benchmarks", *session.posargs)


@nox.session(python="3.12")
def laws(session: nox.Session) -> None:
    session.install("--editable", ".[test]")
    session.run("python", "-m", "pytest", "tests/test_laws.py", *session.posargs, env={"TOOLSHAPE_EXAMPLES": "60"})


@nox.session(python="3.11")
def corpora(session: nox.Session) -> None:
    # The SDKs that are too heavy for everyone, and every row of the corpora instead of a sample.
    session.install("--editable", ".[test,sdks]")
    names = ("foreign", "vendor_types", "clients", "exchanges", "streams", "rules", "slips", "total")
    tests = [f"tests/test_{name}.py" for name in names]
    session.run("python", "-m", "pytest", *tests, "-s", *session.posargs, env={"TOOLSHAPE_EVERY": "1"})


@nox.session(python="3.11")
def bodies(session: nox.Session) -> None:
    # The same calls through every provider, as text, as objects and as streams: 200,000 cases.
    session.install("--editable", ".[schema,repair,testing]", "pytest", "sybil")
    session.run("python", "-m", "pytest", "tests/test_bodies.py", *session.posargs, env={"TOOLSHAPE_EVERY": "1"})


@nox.session(python="3.11")
def fuzz(session: nox.Session) -> None:
    # Cases chosen by coverage; ``nox -s fuzz -- -max_total_time=3600`` goes on for an hour.
    session.install("--editable", ".[schema,repair]", "atheris")
    session.run("python", "tests/fuzz_coverage.py", *(session.posargs or ["-runs=10000"]), env={"PYTHONPATH": "tests"})


@nox.session(python="3.12")
def functions(session: nox.Session) -> None:
    corpus = Path("..", "shared", "corpora", "real_functions.jsonl")
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    pinned = {row["package"] for row in rows if row.get("package", "").partition("==")[0] in PACKAGES}
    session.install("--editable", ".[test]", *sorted(pinned))
    session.run("python", "-m", "pytest", "tests/functions", "--import-mode=importlib", "-s", *session.posargs)
