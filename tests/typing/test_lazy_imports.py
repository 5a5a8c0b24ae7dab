"""What is imported later is seen by the type checker: a misspelt name behind each such import is an error."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import toolshape

PACKAGE = Path(toolshape.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
}


def test_a_misspelt_name_behind_each_lazy_import_fails(tmp_path: Path) -> None:
    """One is planted behind each, and mypy names each of the lines."""
    copy = tmp_path / "toolshape"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    planted = {(path, line) for path in sorted(copy.rglob("*.py")) for line in plant(path)}
    assert len({path for path, _ in planted}) >= 15
    options = ["--strict", "--no-incremental", "--show-error-codes", "--no-error-summary"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "-p", "toolshape"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {
        (tmp_path / path, int(line))
        for path, line, *_ in (line.split(":", 2) for line in ran.stdout.splitlines())
        if "attr-defined" in _[0]
    }
    assert planted <= found, ran.stdout


def plant(path: Path) -> list[int]:
    """Misspell the first use of each module that is imported inside a function; the lines where that was done."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    done = []
    functions = [
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    for function in functions:
        imported = {
            alias.name
            for node in ast.walk(function)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolshape")
            for alias in node.names
        }
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in imported
            ):
                imported.discard(node.value.id)
                line = lines[node.lineno - 1]
                lines[node.lineno - 1] = line.replace(
                    f"{node.value.id}.{node.attr}", f"{node.value.id}.{node.attr}x", 1
                )
                done.append(node.lineno)
    for name, module, node in later_modules(ast.parse(text)):
        line = lines[node.lineno - 1]
        used = f"{name}.{module}.{node.attr}"
        lines[node.lineno - 1] = line.replace(used, f"{used}x", 1)
        done.append(node.lineno)
    path.write_text("".join(lines), encoding="utf-8")
    return done


def later_modules(tree: ast.Module) -> Iterator[tuple[str, str, ast.Attribute]]:
    """Yield the first use of each module that its package imports later: ``name.module.attribute``."""
    packages = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolshape")
        for alias in node.names
    }
    seen: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        inner = node.value if isinstance(node, ast.Attribute) else None
        if not isinstance(inner, ast.Attribute) or not isinstance(inner.value, ast.Name):
            continue
        use = inner.value.id, inner.attr
        if f"{packages.get(use[0])}.{use[1]}" in MODULES and use not in seen:
            seen.add(use)
            assert isinstance(node, ast.Attribute)
            yield *use, node
