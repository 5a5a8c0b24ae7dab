"""The command ``toolshape eval``: runs cases with models, and prints a table of the verdicts."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from toolshape._bound.registry import Registry
from toolshape._bound.targets import TargetError, load, registry_beside, registry_of
from toolshape._cli.output import (
    echo_json,
    progress,
    refuse_not_a_number,
    refuse_unwritable,
    say,
    write,
)
from toolshape._records.errors import did_you_mean
from toolshape.evals import Case, Model, Run, Verdict, evaluate
from toolshape.evals._run import compare_models, runs_by_column
from toolshape.evals._verdict import Column
from toolshape.trace import record_to

_Path = click.Path(dir_okay=False, path_type=Path)


@click.command("eval")
@click.argument("cases")
@click.option(
    "--models",
    required=True,
    metavar="TARGET",
    help="A mapping from names to toolshape.evals.Model.",
)
@click.option(
    "--tools",
    metavar="TARGET",
    help="The registry (default: the registry in the module of the cases).",
)
@click.option(
    "--track",
    "tracks",
    multiple=True,
    metavar="NAME=TARGET",
    help="Compare sets of tools: a name and its registry; repeat for each set.",
)
@click.option(
    "--model", "chosen", multiple=True, metavar="NAME", help="Run only this model; repeat for more."
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often to run each case.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="How many cases to run at once.",
)
@click.option("--html", type=_Path, help="Write the run as an HTML page.")
@click.option("--lines", type=_Path, help="Write each verdict as a line of JSON.")
@click.option(
    "--against", type=_Path, help="Compare with the verdicts in a file that --lines wrote."
)
@click.option(
    "--record", "trace", type=_Path, help="Append each response to this trace, for a replay."
)
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    callback=refuse_not_a_number,
    default=1.0,
    show_default=True,
    help="Exit with 0 if at least this share of trials is right.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each verdict as a line of JSON.")
def evaluation(
    cases: str,
    models: str,
    tools: str | None,
    tracks: tuple[str, ...],
    chosen: tuple[str, ...],
    trials: int,
    limit: int,
    html: Path | None,
    lines: Path | None,
    against: Path | None,
    trace: Path | None,
    least: float,
    as_json: bool,
) -> None:
    """Run cases with models, and report whether the models made the expected calls. No tool runs.

    CASES is MODULE:NAME or PATH.py:NAME of a list of toolshape.evals.Case.

    Exits with 1 if the share of right trials is below --least for any model with any set of tools.
    """
    case_list = _cases(load(cases), cases)
    chosen_models = _models(load(models), models, chosen)
    registries = _tools(cases, tools, tracks)
    if against is None:
        earlier_run = None
    else:
        earlier_run = Run.from_json_lines(_read(against))
    refuse_unwritable(lines, html, trace)
    run = _run(registries, case_list, chosen_models, trials, limit, trace)
    if lines is not None:
        write(lines, run.to_json_lines())
    if html is not None:
        write(html, run.to_html(f"Evaluation of {cases}"))
    if as_json:
        echo_json(run.to_json_lines(), nl=False)
    else:
        say(str(run))
        for compared, comparison in compare_models(run):
            say(f"{compared}: {comparison}")
        _print_comparison(run, earlier_run, against)
    shares = [column_run.share() for column_run in runs_by_column(run).values()]
    if any(share.right / share.total < least for share in shares):
        raise SystemExit(1)


def _print_comparison(run: Run, before: Run | None, against: Path | None) -> None:
    """Compare each column with the same column in an earlier run, and print the comparison."""
    if before is None:
        earlier_columns = {}
    else:
        earlier_columns = runs_by_column(before)
    for column, column_run in runs_by_column(run).items():
        if column in earlier_columns:
            say(f"{column} beside {against}: {column_run.compare(earlier_columns[column])}")


def _tools(
    cases: str, tools: str | None, tracks: tuple[str, ...]
) -> Registry | dict[str, Registry]:
    """Return the registry, or a registry for each track.

    Raises:
        TargetError: A registry is not found, or a track is not written as NAME=TARGET.
    """
    if not tracks:
        if tools:
            return registry_of(tools)
        return registry_beside(cases)
    if tools:
        raise TargetError("pass either --tools, for one registry, or --track, for several")
    registries: dict[str, Registry] = {}
    for track in tracks:
        name, sign, target = track.partition("=")
        if not (name and sign and target):
            raise TargetError(f"--track takes NAME=TARGET, not {track!r}")
        if name in registries:
            raise TargetError(f"two tracks have the name {name!r}")
        registries[name] = registry_of(target)
    return registries


def _run(
    tools: Registry | Mapping[str, Registry],
    cases: list[Case],
    models: Mapping[str, Model],
    trials: int,
    limit: int,
    trace: Path | None,
) -> Run:
    if trace is None:
        recorder = None
    else:
        recorder = record_to(trace, keep="all")
    sets = 1 if isinstance(tools, Registry) else len(tools)
    with progress("cases", len(cases) * sets * len(models) * trials) as advance:

        def on_verdict(verdict: Verdict) -> None:
            column = Column(verdict.track, verdict.model)
            advance(f"{verdict.case}, {column}: {verdict.label.replace('_', ' ')}")

        pending_run = evaluate(
            tools, cases, models, trials=trials, limit=limit, record=recorder, on_verdict=on_verdict
        )
        return asyncio.run(pending_run)


def _cases(loaded: Any, target: str) -> list[Case]:
    if isinstance(loaded, Case):
        case_list = [loaded]
    else:
        case_list = list(loaded) if isinstance(loaded, Iterable) else []
    if not case_list or not all(isinstance(case, Case) for case in case_list):
        raise TargetError(f"{target} is not a list of toolshape.evals.Case")
    return case_list


def _models(loaded: Any, target: str, chosen: tuple[str, ...]) -> Mapping[str, Model]:
    if not (
        isinstance(loaded, Mapping)
        and loaded
        and all(isinstance(model, Model) for model in loaded.values())
    ):
        raise TargetError(f"{target} is not a mapping from names to toolshape.evals.Model")
    for name in chosen:
        if name not in loaded:
            hint = did_you_mean(name, loaded)
            raise TargetError(
                f"{target} has no model {name!r}{f' ({hint})' if hint else ''}; its models are "
                f"{', '.join(loaded)}"
            )
    return {name: model for name, model in loaded.items() if not chosen or name in chosen}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"{path} cannot be read: {error}") from error
