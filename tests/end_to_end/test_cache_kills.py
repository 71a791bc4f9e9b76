"""Processes that share the call cache, and processes that are killed while they use it."""

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from distinguo.backends.cache import FILE_NAME, CallCache

QUESTIONS = 400
AT_ONCE = 8
KILLS = 20

OPENING = """
import sys
from pathlib import Path
from distinguo.backends.cache import CallCache

print("ready", flush=True)
sys.stdin.read()  # all go on when the parent lets go
cache = CallCache(Path(sys.argv[1]))
for number in range(5):
    cache.put(f"{sys.argv[2]}-{number}", "text")
    cache.put(f"shared-{number}", "text")
    assert cache.get(f"{sys.argv[2]}-{number}") == "text"
cache.close()
"""

ASKING = """
import asyncio, json, os, sys
from pathlib import Path
from distinguo.backends.cache import CallCache
from distinguo.backends.limits import Budget
from distinguo.backends.wrapped import wrap_llm
from distinguo.records import Message, Prompt
from distinguo.testing import ScriptedLLM

folder, questions, at_once = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
calls = os.open(folder / "calls.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def reply(prompt, sampling):
    question = prompt.messages[0].content
    os.write(calls, f"{question}\\n".encode())
    os.fsync(calls)
    return f"reply to {question}"

async def main():
    llm = wrap_llm(ScriptedLLM(reply), model="scripted", budget=Budget(), cache=CallCache(folder))
    slots = asyncio.Semaphore(at_once)

    async def ask(number):
        async with slots:
            prompt = Prompt("read", (Message("user", f"question {number}"),))
            return (await llm.complete(prompt)).text

    print("ready", flush=True)
    replies = await asyncio.gather(*(ask(number) for number in range(questions)))
    print(json.dumps(replies), flush=True)

asyncio.run(main())
"""


def child(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_twenty_processes_open_one_new_cache_at_once(tmp_path):
    children = [child(OPENING, tmp_path / "cache", number) for number in range(20)]
    assert [one.stdout.readline() for one in children] == ["ready\n"] * 20
    for one in children:
        one.stdin.close()
        one.stdin = None
    assert [one.communicate()[1] for one in children] == [""] * 20
    assert {one.returncode for one in children} == {0}
    cache = CallCache(tmp_path / "cache")
    assert cache.info().entries == 105
    cache.close()


def committed(folder, scratch):
    """What any SQLite finds in the file; read from a copy, so that the mending is left to the next child."""
    for file in (FILE_NAME, f"{FILE_NAME}-wal"):
        (scratch / file).unlink(missing_ok=True)
        if (folder / file).exists():
            shutil.copy(folder / file, scratch / file)
    database = sqlite3.connect(scratch / FILE_NAME)
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        has_table = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'calls'").fetchone()[0]
        rows = database.execute("SELECT text FROM calls").fetchall() if has_table else []
    finally:
        database.close()
    return {json.loads(text)["text"].removeprefix("reply to ") for (text,) in rows}


def made(folder):
    log = folder / "calls.log"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_twenty_times_no_kept_call_is_made_again(tmp_path):
    folder, scratch = tmp_path / "cache", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    chance = random.Random(20)
    cut_short = 0
    for _ in range(KILLS):
        before, calls = committed(folder, scratch), len(made(folder))
        process = child(ASKING, folder, QUESTIONS, AT_ONCE)
        if chance.random() < 0.8:
            assert process.stdout.readline() == "ready\n"
        try:
            process.wait(timeout=chance.uniform(0.0, 0.15))
        except subprocess.TimeoutExpired:
            cut_short += 1
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert before.isdisjoint(made(folder)[calls:])
        assert before <= committed(folder, scratch)

    before, calls = committed(folder, scratch), len(made(folder))
    output, errors = child(ASKING, folder, QUESTIONS, AT_ONCE).communicate()
    assert errors == ""
    assert json.loads(output.splitlines()[-1]) == [
        f"reply to question {number}" for number in range(QUESTIONS)
    ]
    assert before.isdisjoint(made(folder)[calls:])
    assert committed(folder, scratch) == {f"question {number}" for number in range(QUESTIONS)}
    assert cut_short >= KILLS / 2, "the kills came too late to mean anything: raise QUESTIONS"
    assert len(made(folder)) <= QUESTIONS + KILLS * AT_ONCE  # only calls in flight at a kill were lost
