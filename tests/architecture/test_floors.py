"""The floors and rooms of `.importlinter` hold, and each contract notices when it is broken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Check the `distinguo` package that lies in `folder`."""
    return subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            *("--no-cache", "--no-logo", *options, ROOT / ".importlinter"),
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_imports_keep_to_their_floors_and_rooms() -> None:
    result = lint_imports(ROOT / "src")
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_folder_escapes_the_linter() -> None:
    """A folder without `__init__.py` is a namespace package, which the linter would not look into."""
    folders = {path.parent for path in (ROOT / "src" / "distinguo").rglob("*.py")}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists()) == []


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        ("floors", "records.py", "from distinguo.trace import note"),
        ("floors", "trace.py", "from distinguo.concurrently import each"),
        ("floors", "garret.py", "from distinguo.records import Question"),
        ("backends", "backends/llm/stray.py", "from distinguo.backends.embedding import openai"),
        ("backends", "backends/retry.py", "from distinguo.backends.llm import openai"),
        ("methods", "methods/stray.py", "from distinguo.methods.baselines import vanilla"),
        ("baselines", "methods/baselines/stray.py", "from distinguo.methods.baselines import vanilla"),
        ("light", "text/stray.py", "import numpy"),
    ],
)
def test_a_broken_contract_is_noticed(tmp_path: Path, contract: str, module: str, line: str) -> None:
    shutil.copytree(ROOT / "src" / "distinguo", tmp_path / "distinguo")
    with (tmp_path / "distinguo" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    result = lint_imports(tmp_path, "--contract", contract)
    assert result.returncode == 1, result.stderr
    assert "BROKEN" in result.stdout, result.stdout
