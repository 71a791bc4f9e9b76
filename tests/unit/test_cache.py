"""Replies are kept: once, whole, private, and never at the price of the reply itself."""

import asyncio
import json
import logging
import os
import sqlite3
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from distinguo.backends.cache import FILE_NAME, CallCache, Form, cached, key_of
from distinguo.errors import BackendError, ConfigError, DataError, MismatchError
from distinguo.trace import Trace, tracing

FORM = Form(
    key=lambda request: ["echo", request], write=json.dumps, read=lambda text: [*json.loads(text), "kept"]
)


@pytest.fixture
def cache(tmp_path):
    cache = CallCache(tmp_path / "cache")
    yield cache
    cache.close()


@pytest.fixture
def mounted(tmp_path):
    """A function that mounts a small file system of its own."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")
    mounts = []

    def mount(options):
        folder = tmp_path / f"mount{len(mounts)}"
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        mounts.append(folder)
        return folder

    yield mount
    for folder in mounts:
        subprocess.run(["umount", "-l", folder], check=True)


class Port:
    """A port that counts; `gate` holds its calls back, `began` says that one runs."""

    def __init__(self, *, is_held=False, error=None):
        self.calls = 0
        self.ended = 0
        self.error = error
        self.began = asyncio.Event()
        self.gate = asyncio.Event()
        if not is_held:
            self.gate.set()

    async def __call__(self, request):
        self.calls += 1
        self.began.set()
        try:
            await self.gate.wait()
        finally:
            for _ in range(3):  # as closing a connection takes its time
                await asyncio.sleep(0)
            self.ended += 1
        if self.error is not None:
            raise self.error
        return [request]


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_put_can_be_got_also_after_opening_again(cache, tmp_path):
    cache.put("k", "höchst ☕ \x00")
    assert cache.get("k") == "höchst ☕ \x00"
    assert cache.get("other") is None
    cache.close()
    again = CallCache(tmp_path / "cache")
    assert again.get("k") == "höchst ☕ \x00"
    again.close()


def test_the_first_reply_of_a_key_stays(cache):
    cache.put("k", "first")
    cache.put("k", "second")
    assert cache.get("k") == "first"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_folder_and_files_are_private(cache):
    cache.put("k", "text")
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700
    files = list(cache.path.parent.iterdir())
    assert {file.name for file in files} >= {FILE_NAME, f"{FILE_NAME}-wal"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_it_writes_ahead_and_waits_for_the_disk(cache):
    with cache._using() as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_info_counts_entries_and_bytes(cache):
    assert cache.info().entries == 0
    cache.put("k", "x" * 100_000)
    info = cache.info()
    assert (info.path, info.entries) == (cache.path, 1)
    assert info.bytes > 100_000


def test_clearing_gives_the_disk_back(cache):
    for number in range(100):
        cache.put(str(number), "x" * 10_000)
    full = cache.info().bytes
    assert cache.clear() == 100
    assert cache.info().entries == 0
    assert cache.info().bytes < full / 4


def test_clearing_by_age_keeps_what_is_younger(tmp_path):
    now = 1000.0
    cache = CallCache(tmp_path, now=lambda: now)
    cache.put("old", "text")
    now = 1500.0
    cache.put("young", "text")
    now = 2000.0
    assert cache.clear(older_than=800.0) == 1
    assert (cache.get("old"), cache.get("young")) == (None, "text")
    cache.close()


def test_a_closed_cache_says_so(cache):
    cache.close()
    cache.close()
    with pytest.raises(DataError, match="closed"):
        cache.get("k")


def test_many_threads_share_one_cache(cache):
    failed = []

    def use(thread):
        try:
            for number in range(20):
                cache.put(f"{thread}-{number}", f"text {thread}")
                assert cache.get(f"{thread}-{number}") == f"text {thread}"
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert cache.info().entries == 320


# ── what can be wrong with it ────────────────────────────────────────────────────────────────────────────


def test_a_file_that_is_no_database_is_named_with_the_remedy(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"this is not a database, but longer than a header of one" * 100)
    with pytest.raises(DataError, match=r"calls\.sqlite' is damaged .*delete it"):
        CallCache(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"this is not")  # not ours to delete


def test_a_damaged_file_is_found_out_when_it_is_read(tmp_path):
    cache = CallCache(tmp_path)
    for number in range(200):
        cache.put(str(number), "x" * 500)
    cache.close()
    damaged = bytearray((tmp_path / FILE_NAME).read_bytes())
    damaged[8192:-4096] = b"\xff" * len(damaged[8192:-4096])
    (tmp_path / FILE_NAME).write_bytes(damaged)
    again = CallCache(tmp_path)
    with pytest.raises(DataError, match=r"is damaged .*delete it"):
        _ = [again.get(str(number)) for number in range(200)]
    again.close()


def test_a_cache_of_another_format_is_refused_with_the_remedy(tmp_path):
    CallCache(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(MismatchError, match=r"format 99.*reads 1.*DISTINGUO_CACHE"):
        CallCache(tmp_path)


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    with pytest.raises(ConfigError, match="DISTINGUO_CACHE"):
        CallCache(tmp_path / "cache")


def test_a_read_only_folder_is_named_with_the_remedy(mounted):
    folder = mounted("size=1m,ro")
    with pytest.raises(ConfigError, match=r"cannot be written \(Read-only file system\).*DISTINGUO_CACHE"):
        CallCache(folder)
    with pytest.raises(ConfigError, match="DISTINGUO_CACHE"):
        CallCache(folder / "cache")


def test_a_kept_cache_that_became_read_only_is_named_too(mounted):
    folder = mounted("size=1m")
    cache = CallCache(folder)
    cache.put("k", "text")
    cache.close()
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    with pytest.raises(ConfigError, match="DISTINGUO_CACHE"):
        CallCache(folder)


def test_a_full_disk_loses_nothing_that_was_kept(mounted):
    folder = mounted("size=1m")
    cache = CallCache(folder)
    cache.put("kept", "text")
    with pytest.raises(DataError, match=r"disk of the call cache .* is full; free some space"):
        _ = [cache.put(str(number), "x" * 10_000) for number in range(1000)]
    entries = cache.info().entries
    subprocess.run(["mount", "-o", "remount,size=4m", folder], check=True)
    cache.put("again", "text")
    assert cache.info().entries == entries + 1
    assert (cache.get("kept"), cache.get("0")) == ("text", "x" * 10_000)
    cache.close()


def test_a_cache_cannot_be_made_on_a_full_disk(mounted):
    folder = mounted("size=64k")
    with pytest.raises(OSError, match="No space"):
        (folder / "ballast").write_bytes(b"x" * 100_000)
    with pytest.raises(DataError, match="is full"):
        CallCache(folder / "cache")


def test_a_folder_cannot_be_made_on_a_full_disk(mounted):
    folder = mounted("size=1m,nr_inodes=1")
    with pytest.raises(DataError, match="is full"):
        CallCache(folder / "cache")


def test_a_folder_that_takes_the_file_but_none_beside_it_is_named(mounted):
    folder = mounted("size=1m,nr_inodes=2")
    with pytest.raises(ConfigError, match=r"cannot be written .*DISTINGUO_CACHE"):
        CallCache(folder)


async def test_a_reply_that_cannot_be_kept_is_not_lost(mounted, caplog):
    folder = mounted("size=1m")
    cache = CallCache(folder)
    (folder / "ballast").write_bytes(b"x" * (os.statvfs(folder).f_bavail * os.statvfs(folder).f_bsize))
    trace = Trace("t1", "Who?")
    with tracing(trace), caplog.at_level(logging.WARNING):
        assert await cached(Port(), cache, FORM)("x" * 100_000) == ["x" * 100_000]
    assert "used but not kept" in caplog.text
    assert [event.name for event in trace.events] == ["not kept"]
    assert "is full" in str(trace.events[0].fields["error"])
    cache.close()


def test_a_disk_that_fails_is_told_as_one_that_may_be_full(cache, monkeypatch):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = 4874  # SQLITE_IOERR_SHMSIZE: how a full disk shows in a side file

    class Failing:
        def execute(self, *_):
            raise error

        def close(self):
            pass

    cache.close()
    monkeypatch.setattr(cache, "_database", Failing())
    for use in (cache.info, cache.clear, lambda: cache.get("k")):
        with pytest.raises(DataError, match=r"is full or fails \(disk I/O error\); free some space"):
            use()


async def test_a_cache_that_fails_while_running_costs_a_call_but_no_question(cache, caplog):
    cache.close()
    port, trace = Port(), Trace("t1", "Who?")
    with tracing(trace), caplog.at_level(logging.WARNING):
        assert await cached(port, cache, FORM)("x") == ["x"]
    assert port.calls == 1
    assert "passed over" in caplog.text
    assert [event.name for event in trace.events] == ["not looked up", "not kept"]


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_keys_of_equal_requests_are_equal():
    assert key_of({"a": 1, "b": [0.0, "x"]}) == key_of({"b": [0, "x"], "a": 1.0})


@pytest.mark.parametrize(
    "other",
    [{"a": 2}, {"a": "1"}, {"b": 1}, {"a": [1]}, {"a": None}, {"a": 1, "b": ""}, {"a": 1.5}, [{"a": 1}]],
)
def test_keys_of_other_requests_differ(other):
    assert key_of(other) != key_of({"a": 1})


def test_keys_stay_the_same_from_version_to_version():
    """If this fails, every user's cache is emptied: raise KEY_VERSION, and say so in the changelog."""
    request = ["llm", "model", {"temperature": 0.5, "text": "☕ \ud800"}]
    assert key_of(request) == "0c5ffef1d2a8b3daf98b4c7af5d2432785ccc85572d15ef6e90b9fe3cc0c953a"


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_call_is_made_once(cache):
    port = Port()
    call = cached(port, cache, FORM)
    assert await call("x") == ["x"]
    assert await call("x") == ["x", "kept"]
    assert port.calls == 1


async def test_another_process_on_another_day_finds_the_reply(tmp_path):
    first, second = Port(), Port()
    for port in (first, second):
        cache = CallCache(tmp_path)
        await cached(port, cache, FORM)("x")
        cache.close()
    assert (first.calls, second.calls) == (1, 0)


async def test_equal_calls_at_the_same_time_are_one(cache):
    port = Port(is_held=True)
    call = cached(port, cache, FORM)
    tasks = [asyncio.ensure_future(call("x")) for _ in range(8)]
    await port.began.wait()
    port.gate.set()
    results = await asyncio.gather(*tasks)
    assert port.calls == 1
    assert sorted(results) == [["x"]] + [["x", "kept"]] * 7  # one of them pays


async def test_other_calls_at_the_same_time_are_not(cache):
    port = Port()
    call = cached(port, cache, FORM)
    assert await asyncio.gather(call("x"), call("y")) == [["x"], ["y"]]


async def test_errors_are_shared_but_never_kept(cache):
    port = Port(is_held=True, error=BackendError("down"))
    call = cached(port, cache, FORM)
    tasks = [asyncio.ensure_future(call("x")) for _ in range(3)]
    await port.began.wait()
    port.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["down"] * 3
    assert (port.calls, cache.info().entries) == (1, 0)
    port.error = None
    assert await call("x") == ["x"]


async def test_a_caller_who_leaves_does_not_take_the_call_from_others(cache):
    port = Port(is_held=True)
    call = cached(port, cache, FORM)
    leaves, stays = asyncio.ensure_future(call("x")), asyncio.ensure_future(call("x"))
    await port.began.wait()
    leaves.cancel()
    await asyncio.wait([leaves])
    port.gate.set()
    assert await stays == ["x", "kept"]
    assert port.calls == 1


async def test_when_the_last_caller_leaves_the_call_is_cancelled_and_seen_to_end(cache):
    port = Port(is_held=True)
    call = cached(port, cache, FORM)
    tasks = [asyncio.ensure_future(call("x")) for _ in range(2)]
    await port.began.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert port.ended == 1
    port.gate.set()
    assert await call("x") == ["x"]  # a fresh call, not a cancelled one


async def test_a_kept_reply_that_cannot_be_read_is_named(cache):
    cache.put(key_of(FORM.key("x")), "half a rep")
    with pytest.raises(DataError, match=r"calls\.sqlite' holds a reply that cannot be read.*cache clear"):
        await cached(Port(), cache, FORM)("x")


async def test_the_event_loop_does_not_wait_for_the_disk(cache):
    port = Port()
    with cache._lock:  # somebody else is writing
        task = asyncio.ensure_future(cached(port, cache, FORM)("x"))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not task.done()
    assert await task == ["x"]


def test_nothing_is_opened_on_import():
    assert not Path(FILE_NAME).exists()
