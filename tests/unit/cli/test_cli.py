"""The commands, as a user types them."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest
from click.testing import CliRunner

from toolshape._cli.cli import main
from toolshape._families.names import available

SHOP = """
    from toolshape import Injected, Registry, tool

    @tool
    def create_ticket(order_id: str, urgent: bool = False) -> dict:
        "Open a ticket."
        return {"名": order_id, "urgent": urgent}

    @tool(strict=True)
    def exact(n: int = 1) -> int:
        return n

    @tool
    async def boom() -> None:
        raise RuntimeError("secret")

    def plain(x: int) -> int:
        return x

    @tool
    def needy(n: int = 1, *, db: Injected[dict]) -> str:
        return db["name"] * n

    def make_db():
        return {"name": "db"}

    number = 5

    tools = Registry([create_ticket, boom])
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder with a shop in it."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(SHOP), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*arguments, given=None):
        named = [
            argument if name in argument else argument.replace("shop", name, 1)
            for argument in arguments
        ]
        return CliRunner().invoke(main, named, input=given)

    return invoke


def test_export(run):
    """One provider: what the SDK takes; several: by name; a single tool too."""
    one = json.loads(run("export", "shop:tools", "--to", "openai").stdout)
    assert [tool["function"]["name"] for tool in one] == ["create_ticket", "boom"]
    both = json.loads(run("export", "shop:tools", "--to", "openai", "--to", "anthropic").stdout)
    assert both["openai"] == one
    assert [tool["name"] for tool in both["anthropic"]] == ["create_ticket", "boom"]
    assert json.loads(run("export", "shop:plain", "--to", "anthropic").stdout)[0]["name"] == "plain"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "shop:tools", "--to", "opnai"), "there is no provider 'opnai'"),
        (("export", ":x", "--to", "openai"), "not of the form MODULE:NAME or PATH.py:NAME"),
        (
            ("export", "shop:tolls", "--to", "openai"),
            "has no 'tolls' (did you mean \"tools\"?); there are create_ticket",
        ),
        (
            ("export", "shop:tools.nope", "--to", "openai"),
            "there is no tool 'nope'; there are create_ticket, boom",
        ),
        (
            ("export", "shop:tools", "--to", "openai,mcp"),
            "--to takes one provider: write --to openai --to mcp",
        ),
        (("export", "shop:tools", "--to", "google"), 'write "gemini"'),
        (("export", "./nowhere.py:tools", "--to", "openai"), "there is no file nowhere.py"),
        (
            ("export", "shop:number", "--to", "openai"),
            "is of type int: name a registry, a tool or a function",
        ),
        (("call", "shop:needy"), "needy needs inject={'db': ...}"),
        (("call", "shop:needy", "--inject", "db"), "is not of the form NAME=MODULE:FACTORY"),
        (("call", "shop:needy", "--inject", "db=nowhere:make"), "there is no module 'nowhere'"),
        (
            ("export", "nowhere_at_all:tools", "--to", "openai"),
            "there is no module 'nowhere_at_all'",
        ),
        (("call", "shop:tools", "{}"), "is a registry"),
        (("call", "shop:tools.create_ticket", "{}"), "order_id: required, but missing"),
        (("call", "shop:tools.create_ticket", '{"order_id": "4"'), "cut off"),
        (("call", "shop:boom"), "internal reason"),
    ],
)
def test_mistakes(run, arguments, said):
    """A sentence on standard error, and not 0."""
    done = run(*arguments)
    assert done.exit_code != 0
    assert said in " ".join(done.stderr.split())
    assert "secret" not in done.output


def test_call(run):
    """The result as a model reads it; coercions on standard error."""
    done = run("call", "shop:tools.create_ticket", '{"order_id": 45128}')
    assert (done.exit_code, done.stdout) == (0, '{"名":"45128","urgent":false}\n')
    assert done.stderr == "coerced order_id by text_from_integer: 45128 -> '45128'\n"
    assert run("call", "shop:exact", '{"n": 2}').stdout == "2\n"
    assert run("call", "shop:plain", '{"x": 2}').stdout == "2\n"
    assert run("call", "shop:plain", "-", given='{"x": 3}').stdout == "3\n"


def test_call_with_injected_values(run):
    """A factory is called; anything else is the value."""
    for target in ("db=shop:make_db", "db=shop:make_db.__call__"):
        assert run("call", "shop:needy", '{"n": 2}', "--inject", target).stdout == "dbdb\n"


def test_call_as_json(run):
    """What a program reads: the same keys whatever happened."""
    done = json.loads(
        run("call", "shop:tools.create_ticket", '{"order_id": 45128}', "--json").stdout
    )
    assert done == {
        "ok": True,
        "text": '{"名":"45128","urgent":false}',
        "value": {"名": "45128", "urgent": False},
        "error": None,
        "arguments": {"order_id": "45128", "urgent": False},
        "coercions": [
            {"path": "order_id", "rule": "text_from_integer", "before": 45128, "after": "45128"}
        ],
    }
    done = run("call", "shop:tools.create_ticket", "{}", "--json")
    failed = json.loads(done.stdout)
    assert done.exit_code == 1
    assert failed.keys() == {"ok", "text", "value", "error", "arguments", "coercions"}
    assert (failed["ok"], failed["error"]["code"], failed["arguments"]) == (
        False,
        "invalid_arguments",
        None,
    )
    assert failed["error"]["problems"][0]["path"] == "order_id"


def test_providers(run):
    """Every name, and whether arguments can be constrained."""
    rows = [line.split() for line in run("providers").stdout.splitlines()]
    assert ["openai", "openai", "yes", "128"] in rows
    assert ["mcp", "mcp", "no"] in rows
    assert "vllm+hermes." in rows[-1]
    listed = json.loads(run("providers", "--json").stdout)
    assert {item["name"] for item in listed} == set(available())
    assert listed[0].keys() == {"name", "family", "strict", "most_tools", "description_limit"}


def test_a_path_as_target(run, tmp_path):
    """With a name in it, or the one registry of the module."""
    [shop] = tmp_path.glob("shop_*.py")
    for path in (f"./{shop.name}", str(shop), shop.name):
        for name in (":tools", ""):
            listed = json.loads(run("export", path + name, "--to", "anthropic").stdout)
            assert [entry["name"] for entry in listed] == ["create_ticket", "boom"]
    assert run("call", f"./{shop.name}:plain", '{"x": 2}').stdout == "2\n"


BROKEN = {
    "raise ValueError('no settings')": "ValueError: no settings",
    "import nothing_of_this_name": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
    "x = (": "SyntaxError",
    "from toolshape import tool\n@tool\ndef f(x: object()): ...": "f cannot be a tool",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_module_that_cannot_be_loaded(run, tmp_path, text):
    """A line with its place, and the frames where they are asked for."""
    (tmp_path / "broken.py").write_text(text, encoding="utf-8")
    for target in ("broken:tools", "./broken.py:tools"):
        done = run("export", target, "--to", "openai")
        assert done.exit_code == 2
        assert BROKEN[text] in done.stderr
        assert "broken.py" in done.stderr
        assert "Traceback" not in done.output
        assert "importlib" not in done.output
    done = run("--traceback", "export", "broken:tools", "--to", "openai")
    assert done.exception is not None
    assert not isinstance(done.exception, SystemExit)


def test_a_terminal_has_colours_and_fits_its_width(run, monkeypatch, capsys):
    """By rich; elsewhere rows are whole and plain."""
    from toolshape._cli import output

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    output.show_table(("what", "message"), [("yes", "[bold]" + "x" * 200)])
    output.show_note("refused by openai", ["why " * 30], style="red")
    output.say("done", style="green")
    output.show_error("no [red]markup[/red] of users")
    out, err = capsys.readouterr()
    assert "\x1b[32myes" in out
    assert "\x1b[31mrefused by openai" in out
    assert out.count("\n    why why") == 3  # wrapped below the line, at the same indentation
    assert "[bold]" in out
    assert max(len(line) for line in out.splitlines()) < 100
    assert "[red]markup[/red]" in err


def test_the_script_is_installed():
    """As the README says it."""
    done = subprocess.run(
        [sys.executable, "-m", "toolshape", "--version"], capture_output=True, text=True, check=True
    )
    assert "0.1.0" in done.stdout


LONG = """
from toolshape import Registry, tool

@tool(name="x" * 70, strict=True)
def wide(a: dict[str, int], b: int = 1) -> int:
    "Wide."
    return 1

@tool(strict=True)
def many(PARAMETERS) -> int:
    "Many."
    return 1

tools = Registry([wide, many])
""".replace("PARAMETERS", ", ".join(f"p{number}: int = 0" for number in range(30)))


def test_check(run, tmp_path):
    """What would be refused, by whom, where, by which rule, and how that is known; 1 if anything would be."""
    [shop] = tmp_path.glob("shop_*.py")
    shop.write_text(LONG, encoding="utf-8")
    done = run("check", "shop:tools", "--to", "openai", "--to", "anthropic", "--to", "mcp")
    assert done.exit_code == 1
    *lines, summary = done.stdout.splitlines()
    assert summary == "2 tools to openai, anthropic, mcp: 3 refused"
    heads = [line for line in lines if not line.startswith("    ")]
    assert [head.split(" (")[0] for head in heads] == [
        "refused by anthropic: many", f"refused by mcp: {'x' * 70}", "refused by mcp: many",
    ]  # fmt: skip
    assert lines[1].startswith("    30 optional properties, at most 23 are allowed")
    assert lines[2].startswith("    Source: ")
    assert "2026" in lines[2]
    found = json.loads(run("check", "shop:tools", "--to", "anthropic", "--json").stdout)["refused"]
    assert [(item["tool"], item["rule"]) for item in found] == [("many", "grammar")]
    done = run(
        "check", "shop:tools." + "x" * 70, "--to", "openai", "--to", "gemini", "--strict", "auto"
    )
    assert (done.exit_code, done.stdout) == (
        0,
        "1 tool to openai, gemini: nothing would be refused\n",
    )
    done = run("check", "shop:tools", "--to", "opnai")
    assert (done.exit_code, "there is no provider 'opnai'" in " ".join(done.stderr.split())) == (
        2,
        True,
    )


def test_check_shows_findings(run):
    """They deserve a look, and refuse nothing."""
    done = run("check", "shop:tools", "--to", "openai")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "2 tools to openai: nothing would be refused, 1 finding"
    assert "no description: a model must guess what the tool does" in done.stdout
    found = json.loads(run("check", "shop:tools", "--to", "openai", "--json").stdout)
    assert (found["refused"], [finding["tool"] for finding in found["findings"]]) == ([], ["boom"])


def test_diff(run, tmp_path):
    """How each target is sent each parameter that differs."""
    [shop] = tmp_path.glob("shop_*.py")
    shop.write_text(LONG, encoding="utf-8")
    done = run("diff", "shop:tools.%s" % ("x" * 70), "--to", "openai", "--to", "mcp")
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    told = {(path, target): what for path, target, what in lines if path in ("a", "b")}
    assert told["a", "openai"].startswith("additionalProperties: a map, sent as a list of pairs")
    assert told["b", "openai"] == "required: null means omitted; default: stated in the description"
    assert told["a", "mcp"] == told["b", "mcp"] == "as written"
    rows = json.loads(
        run("diff", "shop:tools.%s" % ("x" * 70), "--to", "openai", "--to", "mcp", "--json").stdout
    )
    assert rows[0]["path"] == ""
    assert rows[0]["sent"]["openai"].startswith("strict; name: sent as ")
    assert rows[0]["sent"]["mcp"] == "lenient"
    same = json.loads(
        run(
            "diff",
            "shop:tools.many",
            "--to",
            "openai",
            "--to",
            "azure",
            "--strict",
            "false",
            "--json",
        ).stdout
    )
    by_commas = run(
        "diff", "shop:tools.many", "--targets", "openai, azure", "--json", "--strict", "false"
    )
    assert json.loads(by_commas.stdout) == same
    assert [row["path"] for row in same] == ["", *(f"p{number}" for number in range(30))]
    assert all(row["sent"]["openai"] == row["sent"]["azure"] for row in same)
    assert run("diff", "shop:tools", "--to", "openai").exit_code != 0


TALKING = """
    import atexit, os, subprocess, sys, warnings

    print("printed at load")
    os.write(1, b"by descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"])
    atexit.register(print, "printed at exit")
    KEPT = sys.stdout

    from toolshape import Registry, tool
    from toolshape.evals import Case, Expect, Model

    @tool
    def say(word: str = "\u2192") -> str:
        "Says \u2192."
        print("printed in the tool")
        print("kept", file=KEPT)
        open(__file__ + ".ran", "a").write("x")
        return f"{word} done"

    tools = Registry([say])
"""


@pytest.fixture
def talking(tmp_path):
    (tmp_path / "talking.py").write_text(textwrap.dedent(TALKING), encoding="utf-8")

    def run_it(*arguments, encoding="utf-8", **options):
        command = [sys.executable, "-m", "toolshape", *arguments]
        environment = {
            **os.environ,
            "PYTHONIOENCODING": encoding,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        return subprocess.run(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, check=False, **options
        )

    return run_it


@pytest.mark.slow
def test_standard_output_holds_what_the_command_prints(talking):
    """Not what a module prints when it is loaded, by whatever way, nor a tool, nor anything at the end of the process."""
    done = talking("call", "talking:say", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout.decode()) == (0, "\u2192 done\n")
    said = done.stderr.decode().split("\n")
    assert {
        "printed at load",
        "by descriptor",
        "by a child",
        "printed in the tool",
        "kept",
        "printed at exit",
    } <= {*said}
    for command in (
        ["call", "talking:say", "--json"],
        ["export", "talking:tools", "--to", "openai"],
    ):
        assert json.loads(talking(*command, stdout=subprocess.PIPE).stdout)


def test_help_is_output(talking):
    assert b"Usage: " in talking("call", "--help", stdout=subprocess.PIPE).stdout


HOOKED = """
from toolshape import Registry, tool

@tool
def hello(n: int) -> str:
    "Say hello."
    return f"hello {n}"

tools = Registry([hello])

@tools.around
async def who(context, proceed):
    result = await proceed()
    return context.result(f"{result.value} from {context.inject['user']}")

USER = "ann"
"""


def test_a_hook_reads_a_value_that_no_tool_declares(run, tmp_path):
    (tmp_path / "hooked.py").write_text(HOOKED, encoding="utf-8")
    done = run(
        "call",
        f"{tmp_path / 'hooked.py'}:tools.hello",
        '{"n": 1}',
        "--inject",
        f"user={tmp_path / 'hooked.py'}:USER",
    )
    assert (done.exit_code, done.stdout) == (0, "hello 1 from ann\n")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_an_output_of_any_encoding(talking, tmp_path, encoding):
    """What it cannot hold is escaped, and what a program reads is JSON all the same."""
    as_json = talking("call", "talking:say", "--json", encoding=encoding, stdout=subprocess.PIPE)
    assert json.loads(as_json.stdout.decode(encoding))["text"] == "\u2192 done"
    exported = talking(
        "export", "talking:tools", "--to", "anthropic", encoding=encoding, stdout=subprocess.PIPE
    )
    assert json.loads(exported.stdout.decode(encoding))[0]["description"] == "Says \u2192."
    plain = talking("call", "talking:say", encoding=encoding, stdout=subprocess.PIPE)
    shown, says_so = ("\u2192", False) if encoding == "utf-16" else ("\\u2192", True)
    assert (plain.returncode, plain.stdout.decode(encoding).strip()) == (0, f"{shown} done")
    assert (f"standard output is {encoding}" in plain.stderr.decode(encoding)) is says_so
    for command in (["check", "--to", "openai"], ["cost", "--to", "openai"], ["lock"], ["page"]):
        done = talking(
            command[0], "talking:tools", *command[1:], encoding=encoding, stdout=subprocess.PIPE
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")  # noqa: PTH110 - no file
def test_an_output_that_is_full_is_a_sentence(talking):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - no file
        done = talking("call", "talking:say", stdout=full)
    assert done.returncode == 2
    assert b"Error: cannot write the output" in done.stderr
    assert b"Traceback" not in done.stderr


def test_half_a_surrogate_pair_is_escaped_in_json(run, tmp_path):
    """No encoding holds it, and JSON may."""
    text = 'from toolshape import tool\n@tool(description="Half: \\ud800.")\ndef f() -> str:\n    return ""\n'
    (tmp_path / "halves.py").write_text(text, encoding="utf-8")
    done = run("export", "halves:f", "--to", "anthropic")
    assert (done.exit_code, json.loads(done.stdout)[0]["description"]) == (0, "Half: \ud800.")
    assert "\\ud800" in done.stdout


def test_a_file_that_cannot_be_written_is_refused_before_anybody_is_asked(run, tmp_path):
    text = """
        from toolshape import Registry, tool
        from toolshape.evals import Case, Expect, Model
        @tool
        def f() -> str:
            "F."
        def ask(request):
            raise SystemExit("asked")
        tools, cases, models = Registry([f]), [Case("c", "?", expected=[Expect("f")])], {"m": Model("openai", ask)}
    """
    (tmp_path / "unasked.py").write_text(textwrap.dedent(text), encoding="utf-8")
    for option in ("--lines", "--html", "--record"):
        done = run("eval", "unasked:cases", "--models", "unasked:models", option, "nowhere/out")
        assert (done.exit_code, done.stderr) == (2, "Error: nowhere/out cannot be written\n")


REGISTRY = """
import sys
from toolshape import Registry, ToolError, tool

@tool(strict=True)
def guarded(on: bool = False) -> str:
    print("printed")
    return f"ran {on}"

@tool(name="files.read")
def read() -> str:
    return "read"

tools = Registry([guarded, read], coerce={"bool_text": True})

@tools.around
def deny(context, proceed):
    if context.arguments.get("on"):
        raise ToolError("not you")
    return proceed()

def leave():
    sys.exit(0)
"""


def test_a_tool_of_a_registry_keeps_its_settings_and_hooks(run, tmp_path):
    """As a model would meet it."""
    (tmp_path / "guards.py").write_text(REGISTRY, encoding="utf-8")
    done = run("call", "guards:tools.guarded", '{"on": "true"}')
    assert (done.exit_code, done.stderr) == (
        1,
        "coerced on by bool_text: 'true' -> True\nError: not you\n",
    )
    done = run("call", "./guards.py:tools.guarded", '{"on": "false"}', "--json")
    assert json.loads(done.stdout)["value"] == "ran False"
    assert "printed" in done.stderr
    assert run("call", "guards:tools.files.read").stdout == "read\n"
    done = run(
        "call", "shop:tools.boom", "--inject", "db=guards:tools"
    )  # the registry has no hook that could read it
    assert (done.exit_code, done.stderr) == (
        2,
        "Error: --inject db has no effect: boom takes no injected values\n",
    )


def test_a_program_that_ends_itself_is_no_success(run, tmp_path):
    """Whoever checks in CI must not be told that all is well."""
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    for command in (
        ("check", "exits:tools", "--to", "openai"),
        ("export", "./exits.py", "--to", "openai"),
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert "SystemExit: 0" in done.stderr
    (tmp_path / "guards.py").write_text(REGISTRY, encoding="utf-8")
    assert run("call", "shop:needy", "--inject", "db=guards:leave").exit_code == 2


def test_a_file_with_the_name_of_a_module(run, tmp_path):
    """Annotations are looked up in it, not in the module."""
    text = "from __future__ import annotations\nclass Item(dict): ...\ndef f(x: Kind) -> str:\n    return x\nKind = str\n"
    (tmp_path / "json.py").write_text(text, encoding="utf-8")
    assert run("call", "./json.py:f", '{"x": "a"}').stdout == "a\n"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shop.tools", "write shop:tools"),
        (".", "is not of the form MODULE:NAME"),
        ("shop.py::tools", "is not of the form"),
    ],
)
def test_targets_that_are_nearly_right(run, target, said):
    """What to write stands in the error."""
    done = run("export", target, "--to", "openai")
    assert done.exit_code == 2
    shown = " ".join(done.stderr.split())
    assert re.sub(r"shop_\w+", "shop", said) in re.sub(r"shop_\w+?(?=[:.]| |$)", "shop", shown), (
        shown
    )
