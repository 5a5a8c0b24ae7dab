"""The commands ``lock``, ``cost`` and ``page``, and the option ``--against`` of ``diff``."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Generator
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolshape._bound.registry import Registry
from toolshape._bound.targets import Named, TargetError, load, load_named, registry_of
from toolshape._cli.output import echo_json, refuse_no_provider, say, write
from toolshape._families import get
from toolshape._records.errors import ToolshapeError
from toolshape._records.result import Usage, usage_text
from toolshape.trace import replay
from toolshape.trace._usage import recorded_usage

if TYPE_CHECKING:
    from toolshape.contract import BrokenCalls, Diff

_answer = click.option(
    "--answer", "answers", multiple=True, metavar="MODULE:NAME", help="An output; repeat for more."
)
_to = click.option(
    "--to", "to", multiple=True, metavar="PROVIDER", help="A provider; repeat for more."
)


@contextlib.contextmanager
def _require_extra() -> Generator[None]:
    try:
        yield
    except ImportError as error:
        message = "contracts and costs need the extra schema: pip install 'toolshape[schema]'"
        raise ImportError(f"{message} ({error})") from error


@click.command("lock")
@click.argument("target", required=False)
@_to
@_answer
@click.option(
    "-o",
    "--output",
    default="tools.lock.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "--mcp",
    "server",
    metavar="SERVER",
    help="The URL of an MCP server, or the command that starts it: lock its tools, as "
    "connect(lock=) reads them.",
)
@click.option("--prefix", help="With --mcp: the prefix=, as in connect.")
@click.option("--trust", is_flag=True, help="With --mcp: trust=True, as in connect.")
@click.option("--closed", is_flag=True, help="With --mcp: closed=True, as in connect.")
def locking(
    target: str | None,
    *,
    to: tuple[str, ...],
    answers: tuple[str, ...],
    output: Path,
    server: str | None,
    prefix: str | None,
    trust: bool,
    closed: bool,
) -> None:
    """Write a contract for TARGET (tools or an output) to a lock file, with
    fingerprints for each provider.
    """
    with _require_extra():
        from toolshape.contract import dump_lock, make_contract  # noqa: PLC0415 - needs an extra

    if (target is None) == (server is None):
        raise click.UsageError("pass a TARGET or --mcp SERVER")
    if server is None and (prefix is not None or trust or closed):
        raise click.UsageError("--prefix, --trust and --closed need --mcp")
    if target is None:
        target_objects = Named(_tools_of_server(str(server), prefix, trust, closed))
    else:
        target_objects = load_named(target, answers)
    write(output, dump_lock(make_contract(target_objects.tools, to, target_objects.outputs)))
    say(f"{output}: {_count_text(target_objects)}", style="green")


def _tools_of_server(server: str, prefix: str | None, trust: bool, closed: bool) -> Registry:
    """Return the tools that an MCP server offers."""
    from toolshape.mcp import connect  # noqa: PLC0415 - needs an extra

    async def read() -> Registry:
        async with connect(server, prefix=prefix, trust=trust, closed=closed) as tools:
            return Registry(list(tools))

    try:
        return asyncio.run(read())
    except ToolshapeError:
        raise
    except Exception as error:  # the SDK chooses the class
        raise TargetError(
            f"{server}: no server answers: {str(error) or type(error).__name__}"
        ) from error


def _count_text(named: Named) -> str:
    tools, outputs = len(named.tools), len(named.outputs)
    if tools or not outputs:
        counts = [f"{tools} tool{'s' * (tools != 1)}"]
    else:
        counts = []
    return ", ".join([*counts, *([f"{outputs} output{'s' * (outputs != 1)}"] if outputs else [])])


@click.command("cost")
@click.argument("target")
@click.option(
    "--to", "to", callback=refuse_no_provider, metavar="PROVIDER", help="The provider. Required."
)
@click.option("--model", default="", help="The model to count tokens for.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the parts of each tool.")
@click.option(
    "--count",
    "counter",
    metavar="MODULE:NAME",
    help="A client that counts tokens, or a function that returns it.",
)
@click.option(
    "--calls",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A trace: also print the tokens of its responses.",
)
def costing(
    target: str,
    *,
    to: str,
    model: str,
    counter: str | None,
    calls: Path | None,
    as_json: bool,
) -> None:
    """Print what each tool of TARGET costs in each request: characters, and
    tokens if a client counts them.

    With --calls, also print the tokens of all responses in a trace, as their providers counted
    them. JSON: the key `recorded` holds them, with the number of responses.
    """
    with _require_extra():
        from toolshape.contract import request_cost  # noqa: PLC0415 - needs an extra

    if counter is None:
        counter_object: Any = None
    else:
        counter_object = load(counter)
    code = getattr(counter_object, "__code__", None)
    if code is not None and not code.co_argcount:
        count = counter_object()
    else:
        count = counter_object
    costs = request_cost(registry_of(target).bind(get(to)), model, count)
    recorded = None if calls is None else recorded_usage(calls)
    if as_json:
        echo_json(_cost_json(costs.to_json(), recorded))
        return
    say(str(costs))
    if recorded is not None:
        responses, usage = recorded
        if usage is None:
            counted = "no response has counts"
        else:
            counted = usage_text(usage)
        say(f"{responses} recorded responses: {counted}")


def _cost_json(costs: str, recorded: tuple[int, Usage | None] | None) -> str:
    if recorded is None:
        return costs
    responses, usage = recorded
    counts = {} if usage is None else usage._asdict()
    return json.dumps(
        {**json.loads(costs), "recorded": {"responses": responses, **counts}}, indent=2
    )


@click.command("page")
@click.argument("target")
@_to
@_answer
@click.option(
    "-o",
    "--output",
    default="tools.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "--against",
    "lock",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Show the changes since this lock file.",
)
@click.option(
    "--calls",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A trace: with --against, also show the recorded calls that break.",
)
@click.option("--title", help="The title of the page; by default the target.")
def paging(
    target: str,
    *,
    to: tuple[str, ...],
    answers: tuple[str, ...],
    output: Path,
    lock: Path | None,
    calls: Path | None,
    title: str | None,
) -> None:
    """Write an HTML page for TARGET (tools or an output): what each provider
    receives and loses, and all changes.
    """
    with _require_extra():
        from toolshape.contract import diff, load_lock, render_page  # noqa: PLC0415 - needs an extra
        from toolshape.contract._page import PROVIDERS  # noqa: PLC0415 - needs an extra

    target_objects = load_named(target, answers)
    if lock is None:
        changes = None
    else:
        changes = diff(target_objects.tools, load_lock(lock), target_objects.outputs)
    if calls is not None:
        if changes is None:
            raise click.UsageError("--calls needs --against")
        from toolshape.contract._recorded import with_recorded  # noqa: PLC0415 - needs an extra

        changes = with_recorded(changes, replay(calls, target))
    about = [f"toolshape {version('toolshape')}", f"made on {datetime.now(timezone.utc):%Y-%m-%d}"]
    about += [] if lock is None else [f"compared with {lock.name}, {_commit_text(lock)}"]
    write(
        output,
        render_page(
            target_objects.tools,
            to or PROVIDERS,
            changes,
            title or target,
            about,
            target_objects.outputs,
        ),
    )
    say(f"{output}: {_count_text(target_objects)}", style="green")


def _commit_text(path: Path) -> str:
    """Return a phrase with the last git commit that changed a file, and the date of this commit."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(path.absolute().parent), *arguments, "--", path.name]
        return subprocess.run(  # noqa: S603 - no shell
            command, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        commit = git("log", "-1", "--format=%h of %cs")
        is_changed = bool(commit and git("status", "--porcelain"))
    except (OSError, subprocess.SubprocessError):  # git is not installed, or there is no repository
        return "which is in no commit"
    if not commit:
        return "which is in no commit"
    return f"commit {commit}{', changed since' if is_changed else ''}"


def _compared(
    named: Named, target: str, lock: Path, calls: Path | None
) -> "tuple[Diff, BrokenCalls | None]":
    """Return the changes since a lock file, and the numbers of recorded calls
    that break, if there is a trace.
    """
    from toolshape.contract import broken_calls, diff, load_lock  # noqa: PLC0415 - needs an extra
    from toolshape.contract._recorded import with_recorded  # noqa: PLC0415 - needs an extra

    changes = diff(named.tools, load_lock(lock), named.outputs)
    if calls is None:
        return changes, None
    replayed = replay(calls, target)
    changes = with_recorded(changes, replayed)
    return changes, broken_calls(changes, replayed)


def against(
    named: Named, target: str, lock: Path, calls: Path | None, as_json: bool, sarif: Path | None
) -> None:
    """Compare the tools and outputs of a target with a lock file; exit with 1 if
    a call or an answer may break.
    """
    with _require_extra():
        from toolshape.contract import to_sarif  # noqa: PLC0415 - needs an extra

    changes, broken = _compared(named, target, lock, calls)
    counts = [0] * len(changes.changes) if broken is None else broken.by_change
    if sarif is not None:
        write(sarif, to_sarif(changes, named.tools, str(lock)))
    if as_json:
        call_counts = [{} if broken is None else {"calls": count} for count in counts]
        change_objects = [
            {**change._asdict(), **count_field}
            for change, count_field in zip(changes.changes, call_counts, strict=True)
        ]
        echo_json(json.dumps(change_objects, indent=2, default=str))
    else:
        for change, count in zip(changes.changes, counts, strict=True):
            trace_note = f"; {count} recorded call{'s' * (count != 1)}" if count else ""
            say(
                f"{change}{trace_note}",
                style={"breaking": "red", "unknown": "yellow"}.get(change.level, ""),
            )
        say(str(changes).splitlines()[-1], style="red" if changes.is_breaking else "green")
        if broken is not None:
            say(str(broken))
    if changes.is_breaking:
        raise SystemExit(1)
