"""Breaks one line of the code at a time, and says which breakages no test notices: ``nox -s mutants -- --room history``.

A seed draws the mutants, so that a run can be repeated. Each mutant changes one place by one operator: those of mutmut,
and two that it lacks (a condition is negated, a statement is left out). Only the tests that reach the changed line
judge it, the fastest first. A cache may hide who reaches a line: a mutant that they let live is shown to the fastest of
the other tests of its room, too.

The tests run in a copy of the tree, one process at a time: a fork of this one, which has imported what the tests need
of others. This file is also the pytest plugin of those runs: it measures who reaches which line, and selects the tests.
Sentences for people are not changed: no test holds their letters.
"""

import argparse
import contextlib
import difflib
import importlib
import json
import math
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

import coverage
import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parents[1]
_REACH = "MUTANTS_REACH"
_SELECT = "MUTANTS_SELECT"
_DATA = "MUTANTS_DATA"
_IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"
_MOST_TIME = 60.0
_FAR_TIME = 10.0
_MOST_AT_IMPORT = 30.0


@dataclass(frozen=True, kw_only=True)
class Room:
    """A part of the code, and the tests that judge it."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()
    functions: Mapping[str, tuple[str, ...]] | None = None
    """For some of the files, the functions that belong to this room; all of a file that is not named."""


CODECS = ("read", "encode", "say", "fold", "recognises", "whole", "gather", "gathered")
READERS = (
    *CODECS, "_call", "_join", "_join_call", "_message", "_is_call", "_said", "_result", "_read_any", "_block", "_piece", "_put",
    "_reading", "_reasoning", "_response", "_step", "_stop_reason", "_calls_in", "_may_be", "_at_the_end", "_begun", "_with_id",
    "_is_legacy", "_has_functions", "_function", "_not_a_response", "function_call", "call", "content",
)  # fmt: skip
LEDGER = ("toolshape/_plan/once.py", "toolshape/_plan/ledger_store.py")
ROOMS: Mapping[str, Room] = {
    "dispatch": Room(
        files=("toolshape/_plan/*.py", "toolshape/_plan/results.py"),
        without=(*LEDGER, "toolshape/_plan/approval.py"),
        tests=(
            "tests/unit/plan/test_dispatch.py", "tests/unit/function/test_results.py", "tests/unit/plan/test_hooks.py", "tests/unit/plan/test_effects.py",
            "tests/unit/plan/test_pausing.py", "tests/unit/plan/test_approval.py", "tests/unit/conversation/test_conversation.py",
            "tests/unit/bound/test_requests.py", "tests/unit/validation/test_outputs.py", "tests/unit/plan/test_isolation.py",
            "tests/unit/bound/test_registry.py", "tests/unit/test_pickles.py", "tests/unit/test_regressions.py",
            "tests/unit/test_error_messages.py", "tests/unit/plan/test_survivors_dispatch.py",
        ),
    ),
    "history": Room(
        files=("toolshape/_history/*.py",),
        tests=(
            "tests/unit/history/test_odd_histories.py", "tests/unit/history/test_history_rules.py", "tests/unit/conversation/test_conversation.py",
            "tests/unit/history/test_survivors_history.py", "tests/laws/test_histories.py",
        ),
    ),
    "messages": Room(
        files=("toolshape/_families/*/messages.py", "toolshape/_families/*/responses.py"),
        without=("toolshape/_families/__init__.py",),
        functions={"/responses.py": READERS},
        tests=(
            "tests/unit/conversation/test_conversation.py", "tests/unit/history/test_odd_histories.py", "tests/unit/history/test_history_rules.py",
            "tests/unit/function/test_results.py", "tests/unit/plan/test_dispatch.py", "tests/unit/validation/test_outputs.py",
            "tests/unit/families/test_provider_package.py", "tests/unit/test_regressions.py", "tests/unit/families/test_survivors_messages.py",
            "tests/unit/testing/test_fakes.py", "tests/laws/test_histories.py", "tests/laws/test_bodies_and_streams.py",
        ),
    ),
    "ledger": Room(
        files=("toolshape/ledger.py", *LEDGER),
        tests=(
            "tests/unit/test_ledger.py", "tests/unit/plan/test_pausing.py", "tests/unit/plan/test_effects.py",
            "tests/unit/test_survivors_ledger.py",
        ),
    ),
    "trace": Room(
        files=("toolshape/trace/_privacy.py", "toolshape/trace/_recorder.py", "toolshape/trace/_line.py"),
        tests=(
            "tests/unit/trace/test_trace.py", "tests/unit/test_secrets.py", "tests/unit/trace/test_survivors_trace.py",
            "tests/laws/test_traces.py",
        ),
    ),
    "contract": Room(
        files=("toolshape/contract/*.py",),
        tests=("tests/unit/contract/test_contract.py", "tests/unit/contract/test_survivors_contract.py"),
    ),
    "approval": Room(
        files=("toolshape/mcp/_approving.py", "toolshape/mcp/_serving.py", "toolshape/_plan/approval.py"),
        tests=(
            "tests/unit/plan/test_approval.py", "tests/unit/plan/test_effects.py", "tests/unit/test_secrets.py",
            "tests/servers/test_mcp_server.py", "tests/servers/test_survivors_approval.py",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one place."""

    file: str
    line: int
    column: int
    operator: str
    number: int
    """Which of the changes that the operator makes at this place."""
    write: Callable[[], str]
    """Writes the whole file, changed."""

    @property
    def place(self) -> tuple[str, int, int, str]:
        """What the changes of one operator at one place share."""
        return self.file, self.line, self.column, self.operator

    @property
    def name(self) -> str:
        """Names the mutant in results: it finds it again while the file is the same."""
        return f"{self.file}:{self.line}:{self.column}:{self.operator}:{self.number}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a mutant."""

    name: str
    outcome: str
    """``killed``, ``timeout`` or ``survived``."""
    tests: int
    """How many tests reach the line."""
    seconds: float
    diff: str
    by: str = ""
    """The test that failed."""


# Mutants


def _left_out(node: Any) -> Iterator[Any]:
    yield cst.Expr(cst.Ellipsis())


def _negated(node: Any) -> Iterator[Any]:
    inside = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), inside))


OPERATORS: tuple[tuple[Any, Callable[[Any], Iterable[Any]], str], ...] = (
    *(
        (kind, operator, operator.__name__.removeprefix("operator_"))
        for kind, operator in mutation_operators
    ),
    ((cst.If, cst.While), _negated, "negated"),
    (cst.Expr, _left_out, "left_out"),
)


def mutants_of(file: str, code: str, functions: Sequence[str] | None = None) -> list[Mutant]:
    """All mutants of a file, or of some of its functions and methods."""
    wrapper = MetadataWrapper(cst.parse_module(code))
    visitor = _Visitor(file, wrapper, functions)
    wrapper.module.visit(visitor)
    return visitor.found


class _Visitor(cst.CSTVisitor):
    """Goes through the code that runs: no annotations, decorators, docstrings, ``__all__`` and names of types in casts."""

    def __init__(
        self, file: str, wrapper: MetadataWrapper, functions: Sequence[str] | None
    ) -> None:
        super().__init__()
        self.found: list[Mutant] = []
        self._file, self._module, self._functions = file, wrapper.module, functions
        self._positions = wrapper.resolve(PositionProvider)
        self._at = [(1, 0)]
        self._inside: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Make the mutants of a node, and go on to what is below it."""
        if _is_still(node):
            return False
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._inside.append(node.name.value)
        place = self._positions.get(node)
        self._at.append((place.start.line, place.start.column) if place else self._at[-1])
        if self._functions is None or set(self._inside) & set(self._functions):
            self._mutate(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Forget the place of a node."""
        if _is_still(original_node):
            return
        self._at.pop()
        if isinstance(original_node, (cst.FunctionDef, cst.ClassDef)):
            self._inside.pop()

    def _mutate(self, node: cst.CSTNode) -> None:
        line, column = self._at[-1]
        for kind, operator, name in OPERATORS:
            if not isinstance(node, kind) or (
                name == "arg_removal" and _is_called(node, "len", "isinstance")
            ):
                continue
            for number, changed in enumerate(operator(node)):
                write = partial(_changed, self._module, node, changed)
                self.found.append(
                    Mutant(
                        file=self._file,
                        line=line,
                        column=column,
                        operator=name,
                        number=number,
                        write=write,
                    )
                )


def _changed(module: Any, old: Any, new: Any) -> str:
    code: str = module.deep_replace(old, new).code
    return code


def _is_called(node: Any, *names: str) -> bool:
    return (
        isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in names
    )


def _is_still(node: Any) -> bool:
    """Whether nothing below is run: a mutant there is either no change, or no module."""
    if isinstance(node, (cst.Annotation, cst.Decorator, cst.ImportFrom, cst.Import)) or _is_called(
        node, "TypeVar", "cast"
    ):
        return True
    if isinstance(node, cst.Expr):
        return isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis))
    if isinstance(node, cst.SimpleString):
        return " " in node.value  # a sentence for people
    is_assigned = isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name)
    return is_assigned and node.targets[0].target.value == "__all__"


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def files_of(room: Room, root: Path) -> list[str]:
    """The files of a room, by their paths in the tree."""
    found = {
        path.relative_to(root).as_posix() for pattern in room.files for path in root.glob(pattern)
    }
    return sorted(found - set(room.without))


def drawn(name: str, root: Path, count: int, seed: int) -> tuple[int, list[Mutant]]:
    """How many places of a room can be changed, and a mutant for each of some that are drawn by a seed."""
    room, places = ROOMS[name], dict[tuple[str, int, int, str], list[Mutant]]()
    for file in files_of(room, root):
        functions = next(
            (some for start, some in (room.functions or {}).items() if start in file), None
        )
        for mutant in mutants_of(file, (root / file).read_text(encoding="utf-8"), functions):
            places.setdefault(mutant.place, []).append(mutant)
    chance = random.Random(f"{name} {seed}")
    found: list[Mutant] = []
    for place in chance.sample(sorted(places), len(places)):
        mutant = chance.choice(places[place])
        if _compiles(mutant.write()):
            found.append(mutant)
        if len(found) == count:
            break
    return len(places), found


# The plugin: who reaches a line, and which tests run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tell coverage whose lines these are, and note how long the test takes."""
    if (path := os.environ.get(_REACH)) is None:
        return (yield)
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        if running is not None:
            running.switch_context("")
        with Path(path).open("a", encoding="utf-8") as notes:
            notes.write(json.dumps([item.nodeid, time.perf_counter() - start]) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the tests that are selected, in that order."""
    if (path := os.environ.get(_SELECT)) is None:
        return
    order = {name: at for at, name in enumerate(json.loads(Path(path).read_text(encoding="utf-8")))}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted(
        (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
    )


def pytest_sessionfinish() -> None:
    """Note which modules of others the tests have imported."""
    if (path := os.environ.get(_REACH)) is None:
        return
    ours = ("toolshape", "pytest_toolshape", "tests", "mutants", "__main__")
    names = [
        name
        for name, module in sys.modules.copy().items()
        if not name.startswith(ours)
        and not str(getattr(module, "__file__", None)).startswith(str(Path.cwd()))
    ]
    with Path(path).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(names) + "\n")


# Runs


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A copy of the tree in which mutants are put, and what is known of the tests there."""

    root: Path
    notes: Path
    seconds: Mapping[str, float]
    """How long each test of the room takes."""
    reach: Mapping[tuple[str, int], frozenset[str]]
    """The tests that reach a line; the empty name stands for what runs at import."""

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant, the fastest first; those of half a minute, if its line runs at import."""
        reached = self.reach.get((mutant.file, mutant.line), frozenset())
        return (
            self.fastest(self.seconds, _MOST_AT_IMPORT)
            if "" in reached or not reached
            else self.fastest(reached, math.inf)
        )

    def fastest(self, tests: Iterable[str], limit: float = _FAR_TIME) -> list[str]:
        """Some tests, the fastest first, as many as a time allows."""
        ordered = sorted(tests, key=lambda test: (self.seconds[test], test))
        total = accumulate(self.seconds[test] for test in ordered)
        return [test for test, seconds in zip(ordered, total, strict=True) if seconds <= limit]


def _pytest(
    root: Path, tests: Sequence[str], environment: Mapping[str, str], limit: float | None
) -> tuple[int, str]:
    """Run pytest in a fork of this process, which has imported what the tests need of others.

    The fork has a group of its own, which is killed when its time is over: its exit code, and what it printed.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = multiprocessing.get_context("fork").Process(
            target=_in_fork, args=(root, tests, environment, output.fileno())
        )
        process.start()
        try:
            process.join(limit)
            is_late = process.is_alive()
        finally:
            if process.pid:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # what a killed test left behind, too
            process.join()
        output.seek(0)
        return (-signal.SIGKILL, "timeout") if is_late else (process.exitcode or 0, output.read())


def _in_fork(root: Path, tests: Sequence[str], environment: Mapping[str, str], output: int) -> None:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(root)
    os.environ.update(
        environment,
        TOOLSHAPE_EXAMPLES="1",
        PYTHONPATH=os.pathsep.join([str(root), str(root / "tests")]),
    )
    sys.path[:0] = [str(root), str(root / "tests")]
    options = [
        "-n0",
        "-x",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-p",
        "mutants",
        "-W",
        _IMPORTED,
    ]
    if (path := environment.get(_DATA)) is None:
        os._exit(pytest.main([*options, *tests]))
    measured = coverage.Coverage(data_file=path, include=[f"{root}/toolshape/*"])
    measured.start()
    code = pytest.main([*options, *tests])
    measured.stop()
    measured.save()
    os._exit(code)


def _copied(place: Path) -> Path:
    """A copy of what git knows of the tree, or of all of it where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    files = (
        [name for name in listed.stdout.decode().split("\0") if name]
        if listed.returncode == 0
        else []
    )
    root = place / "tree"
    if not files:
        shutil.copytree(
            ROOT, root, ignore=shutil.ignore_patterns(".git", ".venv", ".nox", "__pycache__")
        )
    for name in files:
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    return root


def bench_of(name: str, place: Path) -> Bench:
    """Copy the tree, and see in it that the tests of a room pass, how long each takes, and who reaches which line.

    Raises:
        SystemExit: They do not pass: no mutant can be judged by them.
    """
    root, notes, room = _copied(place), place / "notes", ROOMS[name]
    shutil.copy2(__file__, root / "tests" / "mutants.py")
    tests = [test for test in room.tests if (root / test).exists()]
    start = time.perf_counter()
    _unbroken(name, root, tests, {_REACH: str(notes), _DATA: str(place / "reach")})
    *rows, imported = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    _import_all(imported)
    seconds = {test: float(took) for test, took in rows}
    bench = Bench(
        root=root,
        notes=notes,
        seconds=seconds,
        reach=_reach(root, files_of(room, root), place / "reach"),
    )
    fast = bench.fastest(seconds)
    bench.notes.write_text(json.dumps(fast), encoding="utf-8")
    _unbroken(name, root, tests, {_SELECT: str(notes)})  # as they run with each mutant
    print(f"{name}: {len(seconds)} tests in {time.perf_counter() - start:.0f} s", flush=True)
    return bench


def _unbroken(name: str, root: Path, tests: Sequence[str], environment: Mapping[str, str]) -> None:
    code, output = _pytest(root, tests, environment, None)
    if code != 0:
        raise SystemExit(
            f"the tests of the room {name} do not pass without a mutant:\n{output[-3000:]}"
        )


def _import_all(modules: Iterable[str]) -> None:
    """Import what the tests import of others, so that each fork has it already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            with contextlib.suppress(Exception):
                importlib.import_module(module)


def _reach(root: Path, files: Iterable[str], data: Path) -> dict[tuple[str, int], frozenset[str]]:
    measured = coverage.CoverageData(basename=str(data))
    measured.read()
    reach: dict[tuple[str, int], frozenset[str]] = {}
    for file in files:
        lines = measured.contexts_by_lineno(str(root / file))
        reach |= {(file, line): frozenset(tests) for line, tests in lines.items()}
    return reach


@contextlib.contextmanager
def _applied(bench: Bench, mutant: Mutant) -> Iterator[str]:
    """The tree with a mutant in it; its diff."""
    path = bench.root / mutant.file
    whole, broken = path.read_text(encoding="utf-8"), mutant.write()
    diff = difflib.unified_diff(
        whole.splitlines(), broken.splitlines(), mutant.file, mutant.file, lineterm="", n=1
    )
    try:
        _written(path, broken)
        yield "\n".join(list(diff)[2:])
    finally:
        _written(path, whole)


def _written(path: Path, code: str) -> None:
    path.write_text(code, encoding="utf-8")
    # Python tells a changed file by its size and the second it was written in: too little here.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def judged(bench: Bench, mutant: Mutant) -> Verdict:
    """Run the tests that reach a mutant, then the others of its room."""
    start = time.perf_counter()
    near = bench.tests_of(mutant)
    far = bench.fastest(set(bench.seconds) - set(near))
    with _applied(bench, mutant) as diff:
        for tests in filter(None, (near, far)):
            bench.notes.write_text(json.dumps(tests), encoding="utf-8")
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
            limit = _MOST_TIME + 5 * sum(bench.seconds[test] for test in tests)
            code, output = _pytest(bench.root, files, {_SELECT: str(bench.notes)}, limit)
            if code not in (
                pytest.ExitCode.OK,
                pytest.ExitCode.NO_TESTS_COLLECTED,
            ):  # a mutant may leave no tests
                outcome = "timeout" if output == "timeout" else "killed"
                by = next(
                    (
                        line.partition(" - ")[0]
                        for line in output.splitlines()
                        if line.startswith(("FAILED", "ERROR"))
                    ),
                    "",
                )
                break
        else:
            outcome, by = "survived", ""
    seconds = round(time.perf_counter() - start, 2)
    return Verdict(
        name=mutant.name, outcome=outcome, tests=len(near), seconds=seconds, diff=diff, by=by
    )


# Results


def as_markdown(results: Mapping[str, Any]) -> str:
    """A table of the rooms, and the diff of each survivor."""
    lines = [
        "| room | places | drawn | killed | share |",
        "|---|---|---|---|---|",
    ]
    for name, room in results["rooms"].items():
        verdicts = room["verdicts"]
        killed = sum(verdict["outcome"] != "survived" for verdict in verdicts)
        share = f"{100 * killed / len(verdicts):.0f} %" if verdicts else ""
        lines.append(f"| {name} | {room['places']:,} | {len(verdicts)} | {killed} | {share} |")
    for name, room in results["rooms"].items():
        for verdict in room["verdicts"]:
            if verdict["outcome"] == "survived":
                lines += [
                    "",
                    f"{name}, `{verdict['name']}`, {verdict['tests']} tests",
                    "",
                    "```diff",
                    verdict["diff"],
                    "```",
                ]
    return "\n".join(lines) + "\n"


def _save(folder: Path, results: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mutants.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / "mutants.md").write_text(as_markdown(results), encoding="utf-8")


def run(names: Iterable[str], options: argparse.Namespace) -> dict[str, Any]:
    """Draw the mutants of some rooms, judge each, and save the results after each."""
    before = json.loads(options.again.read_text(encoding="utf-8")) if options.again else None
    seed: int = before["seed"] if before else options.seed
    rooms: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="mutants-") as place:
            bench = bench_of(name, Path(place).resolve())
            places, mutants = drawn(name, bench.root, options.count, seed)
            if before:
                lived = {
                    each["name"]
                    for each in before["rooms"][name]["verdicts"]
                    if each["outcome"] == "survived"
                }
                mutants = [mutant for mutant in mutants if mutant.name in lived]
            print(f"{name}: {len(mutants)} mutants of {places} places, seed {seed}", flush=True)
            verdicts: list[dict[str, Any]] = []
            rooms[name] = {"places": places, "tests": len(bench.seconds), "verdicts": verdicts}
            end = time.monotonic() + 60 * options.minutes
            for mutant in takewhile(lambda _: time.monotonic() < end, mutants):  # noqa: B023 - used up here
                verdict = judged(bench, mutant)
                verdicts.append(asdict(verdict))
                print(f"{verdict.outcome:8} {verdict.seconds:6.1f} s  {verdict.name}", flush=True)
                if verdict.outcome == "survived":
                    print(verdict.diff, flush=True)
                _save(options.to, {"seed": seed, "rooms": rooms})
    return {"seed": seed, "rooms": rooms}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="nox -s mutants --", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--room", action="append", choices=ROOMS, help="a room; all of them, if none is given"
    )
    parser.add_argument(
        "--count", type=int, default=150, help="the number of mutants for each room"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="judge no more of a room after that time"
    )
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="draws the mutants"
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("mutants"),
        help="the folder for mutants.json and mutants.md",
    )
    parser.add_argument(
        "--again", type=Path, help="a mutants.json: judge its survivors again (same count and code)"
    )
    options = parser.parse_args()
    print(as_markdown(run(options.room or list(ROOMS), options)))


if __name__ == "__main__":
    main()
