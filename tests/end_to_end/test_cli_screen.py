"""What reaches the screen, and what is said when something is wrong with streams, folders or the program."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from distinguo.cli import housekeeping
from distinguo.cli.main import run
from doubles.house import house, says

NASTY = "fe80:a:b::1 :smile: [/] [red] \x1b]0;title\x07 \x1b[2J \u202e \\\\\\"
SHOWN = "fe80:a:b::1 :smile: [/] [red] ␛]0;title␇ ␛[2J <U+202E> \\\\\\"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "a[/b]c"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    monkeypatch.setenv("DISTINGUO_HOME", str(home / "home"))
    monkeypatch.setenv("DISTINGUO_OFFLINE", "1")
    for name in ("DISTINGUO_MODELS", "DISTINGUO_CACHE", "DISTINGUO_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return home


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(list(arguments))
    return int(ended.value.code or 0)


def test_answers_titles_and_passages_stand_as_they_are(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(here, lambda asked: says(NASTY, 1)):
        row = {"id": "1", "title": NASTY, "text": f"The gate {NASTY}"}
        (here / "corpus" / "more.jsonl").write_text(json.dumps(row), encoding="utf-8")
        assert exit_code("index", "corpus/more.jsonl") == 0
        capsys.readouterr()
        assert exit_code("ask", f"Which gate {NASTY}?", "--explain") == 0
        explained = capsys.readouterr().out
        assert exit_code("show", "--events") == 0
        printed = explained + capsys.readouterr().out
        assert exit_code("ask", "Which gate?", "--json") == 0
        as_json = capsys.readouterr().out
    assert explained.count(SHOWN) >= 2, "the question and the answer"
    assert printed.count(SHOWN) >= 5
    assert not set(printed + as_json) & set("\x1b\x07\u202e")
    assert json.loads(as_json)["answer"] == NASTY


def test_a_terminal_gets_colours(here: Path) -> None:
    with house(here):
        for arguments in (["index", "corpus"], ["ask", "When does the north gate open?"]):
            leader, follower = pty.openpty()
            try:
                subprocess.run(
                    [sys.executable, "-m", "distinguo", *arguments],
                    stdout=follower,
                    stderr=subprocess.DEVNULL,
                    env=os.environ | {"TERM": "xterm-256color"},
                    check=True,
                )
                screen = os.read(leader, 65_536).decode()
            finally:
                os.close(leader)
                os.close(follower)
    assert "\x1b[1;32m" in screen, "a bold green answer"
    assert "\x1b[36m" in screen, "a cyan place"


@pytest.mark.parametrize("arguments", [("cache", "info"), ("models", "where"), ("doctor",), ("init", "[/b]")])
def test_a_path_may_look_like_markup(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    exit_code(*arguments)
    printed = capsys.readouterr()
    assert "[/b]" in printed.out + printed.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("ask - <&-", 1, "the question is empty"),
        ("methods >&-", 0, ""),
        ("methods 2>&-", 0, ""),
        ("methods >/dev/full", 1, "No space left on device"),
        ("methods --json >/dev/full", 1, "No space left on device"),
        ("methods | true", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(here: Path, line: str, code: int, message: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m distinguo {line}"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == code
    assert ended.stderr.count("\n") == bool(message)
    assert message in ended.stderr


def test_no_file_takes_the_place_of_a_closed_stream(here: Path) -> None:
    code = (
        "import os, sys; from distinguo.cli.main import run\n"
        "try: run(['methods'])\n"
        "except SystemExit: pass\n"
        "assert os.open(os.devnull, os.O_RDONLY) > 2"
    )
    subprocess.run(["sh", "-c", f'exec {sys.executable} -c "$0" <&- >&- 2>&-', code], check=True)


def test_a_question_in_another_encoding_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Which gate\xff?"), encoding="utf-8"))
    assert exit_code("ask", "-") == 1
    assert "expected a question in UTF-8" in capsys.readouterr().err


def test_a_fault_of_the_program_is_one_line_with_a_code_of_its_own(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("no [/b] way")

    monkeypatch.setattr(housekeeping, "list_methods", broken)
    assert exit_code("methods") == 70
    said = "error: internal fault: ZeroDivisionError: no [/b] way; run again with --debug and report it\n"
    assert capsys.readouterr().err == said


def test_what_the_system_refuses_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr(Path, "iterdir", refused)
    (here / "home" / "indexes").mkdir(parents=True)
    assert exit_code("doctor") == 1
    assert "✗ indexes: [Errno 13] Permission denied: '/somewhere'" in capsys.readouterr().out
    monkeypatch.setattr(housekeeping, "places", refused)
    assert exit_code("models", "list") == 1
    assert (
        capsys.readouterr().err == "error: the system refused: [Errno 13] Permission denied: '/somewhere'\n"
    )


def test_the_log_shows_no_address(here: Path) -> None:
    with house(here):
        written = (here / "distinguo.toml").read_text(encoding="utf-8").replace('/v1"', '/v1?key=SECRET"', 1)
        (here / "distinguo.toml").write_text(written, encoding="utf-8")
        for arguments in (["index", "corpus"], ["ask", "When does the gate open?", "--explain"]):
            ended = subprocess.run(
                [sys.executable, "-m", "distinguo", *arguments, "--debug"], capture_output=True, check=False
            )
            assert ended.returncode == 0
            assert b"SECRET" not in ended.stdout + ended.stderr
    for path in (here / "home").rglob("*.json"):
        assert "SECRET" not in path.read_text(encoding="utf-8")


def test_help_states_the_exit_codes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    assert "130 interrupted" in " ".join(capsys.readouterr().out.split())
