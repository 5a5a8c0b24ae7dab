"""The blocks of the README and the recipes of docs/hooks.md are clean under mypy and pyright, as a reader pastes them."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hooks.md"


def recipes() -> dict[str, str]:
    """The code of each recipe, by its heading."""
    part = PAGE.read_text(encoding="utf-8").partition("## Recipes\n")[2].partition("\n## ")[0]
    found = re.findall(r"^### (.+?)\n.*?^```python\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return {re.sub(r"\W+", "_", title.lower()): code for title, code in found}


def test_the_recipes_are_typed(tmp_path: Path) -> None:
    """Strictly; and a mistake in one is found."""
    names = recipes()
    assert len(names) == 4
    for name, code in names.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    assert run("mypy", "--strict", "--no-incremental", str(tmp_path)) == ""
    assert run("pyright", "--pythonpath", sys.executable, str(tmp_path)) == ""
    (tmp_path / "wrong.py").write_text(
        names["retry_failed_calls_with_stamina"].replace("return await", "return"), encoding="utf-8"
    )
    assert "wrong.py" in run("mypy", "--strict", "--no-incremental", str(tmp_path))


def test_the_blocks_of_the_readme_are_typed(tmp_path: Path) -> None:
    """The first is alone, the second follows it, the refund is alone; each recipe follows the block that opens them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    loop, two_providers, refund, tools, *others = re.findall(
        r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert len(others) >= 3
    imports = set(re.findall(r"^(?:from|import) .*$", loop, re.MULTILINE))
    lines = two_providers.splitlines()
    rest = "\n".join(line for line in lines if line not in imports)  # a name is imported once
    opened = [loop, f"{loop}\n\n{rest}", refund]
    for number, code in enumerate([*opened, *(f"{tools}\n\n{other}" for other in others)]):
        (tmp_path / f"block_{number}.py").write_text(code, encoding="utf-8")
    assert run("mypy", "--strict", "--no-incremental", str(tmp_path)) == ""
    assert run("pyright", "--pythonpath", sys.executable, str(tmp_path)) == ""


def run(*command: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr
