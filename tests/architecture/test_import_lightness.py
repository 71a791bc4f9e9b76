"""Importing Distinguo and asking for help load nothing heavy and touch nothing outside."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = {
    "huggingface_hub",
    "numpy",
    "openvino",
    "openvino_genai",
    "pandas",
    "pydantic",
    "qdrant_client",
    "qdrant_edge",
    "torch",
    "transformers",
}
LOW = ["records", "errors", "protocols", "trace", "concurrently", "text", "prompts"]

WATCH = """
import contextlib, io, json, os, sys
seen = []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def watch(event, arguments):
    if event.startswith("socket."):
        seen.append(event)
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        seen.append(f"wrote {arguments[0]}")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
environment = dict(os.environ)
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    exec(sys.argv.pop(1))
changed = {name for name in environment.keys() | os.environ.keys()
           if environment.get(name) != os.environ.get(name)}
modules = {name.partition(".")[0] for name in sys.modules}
found = {"seen": seen, "changed": sorted(changed), "modules": sorted(modules), "shown": shown.getvalue()}
print(json.dumps(found))
"""


def watched(code: str) -> dict:
    """What running `code` in a fresh interpreter loads, opens and changes."""
    result = subprocess.run(
        [sys.executable, "-c", WATCH, code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def low_modules() -> list[str]:
    paths = [path for name in LOW for path in (SOURCE / "distinguo").glob(f"{name}.py")]
    paths += [path for name in LOW for path in (SOURCE / "distinguo" / name).rglob("*.py")]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]


def assert_light(run: dict) -> None:
    assert HEAVY & set(run["modules"]) == set()
    assert run["seen"] == []
    assert run["changed"] == []


def test_importing_distinguo_is_light() -> None:
    assert_light(watched("import distinguo"))


def test_importing_the_lower_floors_is_light() -> None:
    modules = low_modules()
    assert len(modules) > len(LOW)
    assert_light(watched("\n".join(f"import {module}" for module in modules)))


def test_asking_for_help_is_light() -> None:
    run = watched("import sys; sys.argv = ['distinguo', '--help']; from distinguo.cli.main import run; run()")
    assert_light(run)
    assert "ask" in run["shown"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import socket; socket.socket().close()", "seen"),
        ("import tempfile; tempfile.TemporaryFile().close()", "seen"),
        ("import os; os.environ['X_DISTINGUO'] = '1'", "changed"),
    ],
)
def test_the_watch_sees(code: str, kind: str) -> None:
    assert watched(code)[kind] != []


def test_the_watch_sees_heavy_packages() -> None:
    assert HEAVY & set(watched("import numpy")["modules"]) == {"numpy"}
