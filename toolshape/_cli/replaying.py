"""The command ``toolshape replay``: plans a trace's responses again, and prints what changed."""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import click

from toolshape._cli.output import echo, echo_json, say
from toolshape.trace import Replay, replay


@click.command("replay")
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many processes to use.",
)
@click.option(
    "--stages", "shows_stages", is_flag=True, help="Print the stages of each call that changed."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: a line for the counts, and a line for each change.",
)
def replaying(trace: Path, target: str, workers: int, shows_stages: bool, as_json: bool) -> None:
    """Plan each response of a TRACE again with the tools of TARGET, and report what changed.

    No tool runs.

    Exits with 1 if there is a regression: a call that worked is now refused, or passes other values
    to its function.
    """
    make_executor = partial(ProcessPoolExecutor, workers, mp_context=get_context("spawn"))
    replayed = replay(trace, target, make_executor if workers > 1 else None)
    if as_json:
        echo_json(replayed.to_json_lines(), nl=False)
    else:
        if shows_stages:
            _show_stages(replayed)
        say(str(replayed), style="red" if replayed.regressions else "")
    if replayed.regressions:
        raise SystemExit(1)


def _show_stages(replayed: Replay) -> None:
    for change in replayed.changes:
        echo(str(change))
        for name, value in ({} if change.stages is None else change.stages.as_json()).items():
            echo(f"  {name}: {json.dumps(value, ensure_ascii=False, default=str)}")
