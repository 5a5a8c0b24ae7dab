"""The commands that list providers, and export, check, compare and call tools.

Needs the extra ``cli``.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolshape._answers.output import findings_of
from toolshape._bound import compatibility
from toolshape._bound.registry import without_strict
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import Limit
from toolshape._records.calls import Strictness
from toolshape._records.errors import ToolshapeError
from toolshape._records.result import Result
from toolshape._records.shown import escape_invisible
from toolshape._tools.tool import record_of
from toolshape.text import formats

try:
    import click

    from toolshape._cli.contracting import against, costing, locking, paging
    from toolshape._cli.evaluation import evaluation
    from toolshape._cli.output import (
        echo,
        echo_json,
        refuse_no_provider,
        reserve_output,
        say,
        show_error,
        show_note,
        show_table,
        split_names,
        standard_input,
    )
    from toolshape._cli.replaying import replaying
    from toolshape._cli.searching import searching
    from toolshape._cli.serving import serving
    from toolshape._cli.verifying import verifying
except ImportError as error:
    raise SystemExit(
        "the command line needs click and rich: pip install 'toolshape[cli]'"
    ) from error

from toolshape._bound.targets import (
    TargetError,
    load_injected,
    load_named,
    refuse_missing,
    refuse_unread,
    registry_of_tool,
    tool_of,
)

_STRICTNESS: Mapping[str | None, Strictness | None] = {
    None: None,
    "auto": "auto",
    "true": True,
    "false": False,
}
_to = click.option(
    "--to",
    "to",
    multiple=True,
    callback=refuse_no_provider,
    metavar="PROVIDER",
    help="A provider; repeat for more. Required.",
)
_strict = click.option(
    "--strict",
    type=click.Choice(["auto", "true", "false"]),
    default=None,
    help="Whether to constrain arguments.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _CommandError(click.ClickException):
    """An error that prints one sentence on standard error."""

    exit_code = 2

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        show_error(self.message)


class _Commands(click.Group):
    """Prints errors without a traceback unless ``--traceback`` is set, and reserves
    standard output for the command.
    """

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        if cmd.callback is not None:
            cmd.callback = reserve_output()(cmd.callback)
        super().add_command(cmd, name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (TargetError, ToolshapeError, ImportError) as error:
            if ctx.params.get("traceback"):
                raise
            raise _CommandError(str(error)) from error
        except OSError as error:
            # Click handles a closed pipe.
            if ctx.params.get("traceback") or isinstance(error, BrokenPipeError):
                raise
            raise _CommandError(f"cannot write the output: {error}") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolshape")
@click.option("--traceback", is_flag=True, help="Show the traceback of an error.")
def main(traceback: bool) -> None:
    """Export tools for model providers, and call them as a model would.

    A TARGET is MODULE:NAME or PATH.py:NAME, where NAME is a registry, a tool, a function, or
    REGISTRY.TOOL. Without NAME, the module must have exactly one registry.

    Exit codes: 0 success; 1 a provider would refuse a tool, or the call failed; 2 a wrong command,
    target or provider.
    """


@main.command()
@_json
def providers(as_json: bool) -> None:
    """List the providers, and show whether each can constrain arguments.

    JSON: a list of objects with `name`, `family`, `strict` (a boolean), `most_tools` and
    `description_limit` (a number, or null).
    """
    known_providers = [get(name) for name in available()]
    if as_json:
        _print_json(
            [
                {
                    "name": provider.name,
                    "family": provider.family,
                    "strict": provider.schema.strict is not None,
                    "most_tools": _most(provider.request.most_tools, None),
                    "description_limit": _most(provider.request.longest_description, None),
                }
                for provider in known_providers
            ]
        )
        return
    rows = [
        (
            provider.name,
            provider.family,
            "yes" if provider.schema.strict is not None else "no",
            _most(provider.request.most_tools, ""),
        )
        for provider in known_providers
    ]
    show_table(("provider", "family", "strict", "tools per request"), rows)
    say(
        "Add + and a text format to read calls that a server leaves in the text: vllm+hermes. "
        f"Formats: {', '.join(text_format.name for text_format in formats())}"
    )


@main.command()
@click.argument("target")
@_to
@_strict
def export(target: str, to: tuple[str, ...], strict: str | None) -> None:
    """Print the tools in each provider's format, as JSON: a list for one provider,
    an object of lists for several.

    If TARGET is an output, print the keyword arguments for a request that asks for this output.
    """
    target_objects, strictness = load_named(target), _STRICTNESS[strict]
    exported: dict[str, Any] = {
        name: target_objects.outputs[0].bind(_resolve_provider(name), strictness).request()
        if target_objects.outputs
        else target_objects.tools.export(_resolve_provider(name).name, strict=strictness)
        for name in to
    }
    _print_json(exported if len(exported) != 1 else exported[to[0]])


@main.command()
@click.argument("target")
@_to
@_strict
@_json
def check(target: str, to: tuple[str, ...], strict: str | None, as_json: bool) -> None:
    """Report the tools or outputs that a provider would refuse, and other findings.

    Exits with 1 if there is a refusal.

    JSON: an object with `refused` (objects with `provider`, `tool`, `path`, `rule`, `message`,
    `evidence`) and `findings` (objects with `tool`, `path`, `rule`, `message`).
    """
    target_objects, strictness = load_named(target), _STRICTNESS[strict]
    registry = target_objects.tools
    names = [_resolve_provider(name).name for name in to]
    # A refusal is of one provider and makes the exit code 1; a finding is of the tool, whoever it
    # is sent to, and does not. Both are printed as lines or as JSON, and the last line counts them.
    refused = [
        refusal for name in names for refusal in compatibility.check(registry, name, strictness)
    ]
    refused += [
        refusal
        for output in target_objects.outputs
        for name in names
        for refusal in compatibility.check_answer(output, name, strictness)
    ]
    findings = [
        {"tool": tool.name, **finding._asdict()} for tool in registry for finding in tool.findings
    ]
    findings += [
        {"tool": output.name, **finding._asdict()}
        for output in target_objects.outputs
        for finding in findings_of(output)
    ]
    if as_json:
        _print_json({"refused": [refusal._asdict() for refusal in refused], "findings": findings})
    else:
        for refusal in refused:
            place = ".".join(filter(None, (refusal.tool, refusal.path))) or "all tools together"
            head = f"refused by {refusal.provider}: {place} ({refusal.rule})"
            source = [f"Source: {refusal.evidence}"] if refusal.evidence else []
            show_note(head, [refusal.message, *source], style="bold red")
        for finding in findings:
            place = ".".join(filter(None, (finding["tool"], finding["path"])))
            show_note(f"finding: {place} ({finding['rule']})", [finding["message"]], style="yellow")
        subject = (
            f"{len(registry)} tool{'s' * (len(registry) != 1)}"
            if not target_objects.outputs
            else target_objects.outputs[0].name
        )
        count = f"{subject} to {', '.join(names)}"
        outcome = f"{len(refused)} refused" if refused else "nothing would be refused"
        finding_count = f", {len(findings)} finding{'s' * (len(findings) != 1)}" if findings else ""
        say(f"{count}: {outcome}{finding_count}", style="red" if refused else "green")
    if refused:
        raise SystemExit(1)


@main.command()
@click.argument("target")
@click.option(
    "--to",
    "--targets",
    "to",
    multiple=True,
    callback=split_names,
    metavar="PROVIDER",
    help="A provider; repeat for more, or separate them by commas.",
)
@_strict
@_json
@click.option(
    "--against",
    "lock",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A lock file to compare with.",
)
@click.option(
    "--calls",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A trace, with --against.",
)
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write SARIF to this file, with --against.",
)
@click.option(
    "--answer", "answers", multiple=True, metavar="MODULE:NAME", help="An output, with --against."
)
def diff(
    target: str,
    *,
    to: tuple[str, ...],
    strict: str | None,
    as_json: bool,
    lock: Path | None,
    calls: Path | None,
    sarif: Path | None,
    answers: tuple[str, ...],
) -> None:
    """Compare the forms of a tool for several providers (--to), or compare tools
    with their lock file (--against).

    With --to: for each provider, print the form of the whole tool, and of each parameter that
    differs. JSON: a list of objects with `path` (empty for the whole tool) and `sent`, an object
    that maps each provider to its differences.

    With --against: print what has changed in the tools of TARGET since `toolshape lock`, breaking
    changes first, each with an example call. Exits with 1 if a call breaks or may break. JSON: a
    list of objects with `kind`, `level` (breaking, unknown, behaviour or compatible), `tool`,
    `path`, `before`, `after`, `witness` and `providers`. With --calls, each object also has
    `calls`, the number of recorded calls that the change breaks.
    """
    if lock is not None:
        against(load_named(target, answers), target, lock, calls, as_json, sarif)
        return
    if calls is not None or sarif is not None or answers:
        raise click.UsageError("--calls, --sarif and --answer need --against LOCK_FILE")
    if not to:
        raise click.UsageError("pass --to PROVIDER or --against LOCK_FILE")
    tool = tool_of(target)
    differences = compatibility.differences(
        tool, [_resolve_provider(name) for name in to], _STRICTNESS[strict]
    )
    if as_json:
        _print_json([difference._asdict() for difference in differences])
        return
    rows = [
        (difference.path or "(the tool)", name, sent)
        for difference in differences
        for name, sent in difference.sent.items()
    ]
    show_table(("path", "provider", "sent"), rows)
    if len(differences) == 1:
        say("no parameter differs")


@main.command()
@click.argument("target")
@click.argument("arguments", default="{}")
@click.option(
    "--inject",
    multiple=True,
    metavar="NAME=MODULE:FACTORY",
    help="A factory for an injected value; repeat for more.",
)
@click.option("--approve", is_flag=True, help="Approve the call if the tool needs approval.")
@_json
def call(
    target: str, arguments: str, inject: tuple[str, ...], approve: bool, as_json: bool
) -> None:
    """Call a tool with JSON ARGUMENTS (`-` reads standard input), and print
    the text that a model would read.

    The coercions, and all text that the tool prints, go to standard error. Exits with 1 if the call
    is refused, waits for approval or fails.

    JSON: an object with `ok`, `text` (what a model reads), `value` (null for images and files),
    `error` (null, or `code`, `problems` and `retryable`), `arguments` (as the function got them, or
    null) and `coercions`.
    """
    if not click.get_current_context().find_root().params["traceback"]:
        # Tracebacks from tools are printed only with --traceback.
        logging.getLogger("toolshape").addHandler(logging.NullHandler())
    registry, name = registry_of_tool(target)
    values = load_injected(inject)
    refuse_unread(
        values,
        registry,
        record_of(registry[name]).definition.layout.injected.keys(),
        f"{name} takes",
    )
    refuse_missing(record_of(registry[name]), values)
    text = _standard_input() if arguments == "-" else arguments
    body = {"name": name, "arguments": text}
    plan = without_strict(registry, name).plan(body, provider="json-schema")
    if approve:
        plan.approve(plan.pending)
    [result] = plan.run(inject=values)
    if as_json:
        _print_json(_to_json(result))
    else:
        for path, rule, before, after in result.coercions:
            click.echo(
                f"coerced {escape_invisible(path) or 'the arguments'} by {rule}: "
                f"{escape_invisible(repr(before))} -> "
                f"{escape_invisible(repr(after))}",
                err=True,
            )
        if result.ok:
            echo(result.text, is_data=True)
        else:
            show_error(result.text)
    if not result.ok:
        raise SystemExit(1)


main.add_command(costing)
main.add_command(evaluation)
main.add_command(locking)
main.add_command(paging)
main.add_command(replaying)
main.add_command(searching)
main.add_command(serving)
main.add_command(verifying)


def _standard_input() -> str:
    try:
        # Editors and shells on Windows may begin a file with a byte order mark.
        return standard_input().buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TargetError(f"standard input is not UTF-8: {error}") from error


def _most(limit: Limit | None, without: Any) -> Any:
    """Return the number of a limit, or what stands where there is none."""
    if limit is None:
        return without
    return limit.most


def _to_json(result: Result) -> dict[str, Any]:
    error, text = result.error, result.text
    failure = None
    if error is not None:
        problems = [problem._asdict() for problem in error.problems]
        failure = {"code": error.code, "problems": problems, "retryable": error.retryable}
    value = None
    if error is None and result.is_text is not None:
        value = text if result.is_text else json.loads(text)
    return {
        "ok": result.ok,
        "text": text,
        "value": value,
        "error": failure,
        "arguments": result.arguments,
        "coercions": [coercion._asdict() for coercion in result.coercions],
    }


def _resolve_provider(name: str) -> Any:
    if "," in name and name not in available():
        raise TargetError(
            "--to takes one provider: write "
            f"{' '.join('--to ' + part.strip() for part in name.split(','))}"
        )
    return get(name)


def _print_json(value: Any) -> None:
    echo_json(json.dumps(value, indent=2, ensure_ascii=False, default=str))


if __name__ == "__main__":
    main(prog_name="toolshape")
