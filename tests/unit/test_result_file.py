"""Result files take rows one by one, survive what happens to files, and refuse other runs."""

import os
from pathlib import Path

import pytest

from distinguo.errors import DataError, MismatchError
from distinguo.results.file import SAFE_EVERY, ResultFile, first_difference
from distinguo.results.rows import Row, Weighed

HEADER = {"method": {"name": "bm25", "k": 3}, "questions": "abc"}
SEGMENT = {"started": "2026-01-01T00:00:00Z"}


def row(name: str, answer: str = "seven") -> Row:
    return Row(name, "answered", "When?", answer, evidence=(Weighed("d#1", "d", 0.5, "bm25"),))


def written(path: Path, *rows: Row) -> Path:
    with ResultFile.open(path, HEADER) as file:
        file.begin(SEGMENT)
        for each in rows:
            file.append(each)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "there" / "r.jsonl", row("a"), row("b", "acht\n\u2028Uhr"))
    found = ResultFile.read(path)
    assert found.header == {"format": 1, **HEADER}
    assert found.segments == (SEGMENT,)
    assert found.rows == (row("a"), row("b", "acht\n\u2028Uhr"))
    assert path.read_bytes().count(b"\n") == 4


def test_what_is_known_at_the_end_of_a_piece_is_told_with_its_beginning(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a"))
    with ResultFile.open(path, HEADER) as file:
        file.begin(SEGMENT)
        file.append(row("b"))
        file.end({"seconds": 2.5})
    assert ResultFile.read(path).segments == (SEGMENT, {**SEGMENT, "seconds": 2.5})


def test_a_later_row_of_a_question_counts_in_its_first_place(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a", "one"), row("b"), row("a", "two"))
    assert [(each.id, each.answer) for each in ResultFile.read(path).rows] == [("a", "two"), ("b", "seven")]


def test_a_row_is_there_before_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with ResultFile.open(path, HEADER) as file:
        file.append(row("a"))
        assert [each.id for each in ResultFile.read(path).rows] == ["a"]


def test_opening_and_closing_a_finished_file_leaves_it_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a"))
    before = path.read_bytes()
    with ResultFile.open(path, HEADER) as file:
        assert file.rows == {"a": row("a")}
    assert path.read_bytes() == before


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_last_line_that_was_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "r.jsonl", row("a"), row("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [each.id for each in ResultFile.read(path).rows] == ["a"]
    with ResultFile.open(path, HEADER) as file:
        file.append(row("c"))
    assert [each.id for each in ResultFile.read(path).rows] == ["a", "c"]


def test_a_file_that_was_killed_in_its_first_line_begins_again(tmp_path: Path) -> None:
    whole = written(tmp_path / "r.jsonl", row("a")).read_bytes()
    first = whole.index(b"\n")
    for cut in range(first + 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        assert written(path, row("a")).read_bytes() == whole


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", b'{"id": "q1"}\n', b"[1]\n", b"\xff\n"])
def test_another_file_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"r\.jsonl"):
        written(path, row("a"))
    with pytest.raises(DataError, match=r"r\.jsonl"):
        ResultFile.read(path)
    assert path.read_bytes() == content


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a"), row("b"))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], b'{"id": "a"}', *lines[3:]]))
    with pytest.raises(DataError, match=r"damaged at line 3: .*state"):
        ResultFile.read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"seconds": 0.0', '"seconds": NaN', "damaged at line 3: NaN is not JSON"),
        ('"score": 0.5', '"score": Infinity', "damaged at line 3: Infinity is not JSON"),
        ('"score": 0.5', '"score": "high"', "damaged at line 3: .*'score' is 'high'"),
        ('"is_cited": false', '"is_cited": 0', "damaged at line 3: .*'is_cited' is 0"),
        ('"document": "d"', '"document": 7', "damaged at line 3: .*'document' is 7"),
        ('"citations": []', '"citations": [3]', "damaged at line 3: .*'citations' is 3"),
    ],
)
def test_values_that_no_run_writes_are_damage(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path / "r.jsonl", row("a"))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        ResultFile.read(path)


def test_files_put_together_are_no_result_file(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a"))
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(DataError, match=r"a second fingerprint at line 4: .* give each of them"):
        ResultFile.read(path)


def test_results_go_to_regular_files_alone() -> None:
    with pytest.raises(DataError, match="'/dev/null': it is no regular file"):
        ResultFile.open(Path("/dev/null"), HEADER)


def test_another_run_is_refused_and_the_first_difference_named(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a"))
    before = path.read_bytes()
    other = {"method": {"name": "bm25", "k": 5}, "questions": "xyz"}
    with pytest.raises(MismatchError, match=r"made with method\.k 3, and now it is 5"):
        ResultFile.open(path, other)
    assert path.read_bytes() == before


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"distinguo": {"format": 99}}\n', encoding="utf-8")
    with pytest.raises(MismatchError, match="format 99"):
        ResultFile.read(path)


@pytest.mark.parametrize(
    ("there", "here", "difference"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ("a.b", 1, 2)),
        ({"a": 1}, {"a": 1, "b": 2}, ("b", None, 2)),
        ({"a": 1, "b": 2}, {"a": 1}, ("b", 2, None)),
        ({"a": [1]}, {"a": [2]}, ("a", [1], [2])),
        ({"a": {"b": 1}}, {"a": "b"}, ("a", {"b": 1}, "b")),
    ],
)
def test_differences_have_a_name(there: dict, here: dict, difference: tuple | None) -> None:
    assert first_difference(there, here) == difference


def test_one_run_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with (
        ResultFile.open(path, HEADER),
        pytest.raises(DataError, match=r"another run is writing to .*r\.jsonl"),
    ):
        ResultFile.open(path, HEADER)
    written(path, row("a"))
    assert len(ResultFile.read(path).rows) == 1


def test_a_lone_surrogate_of_a_model_is_kept_as_an_escape(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl", row("a", "half \ud83d"))
    assert ResultFile.read(path).rows[0].answer == "half \ud83d"


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, room = tmp_path / "r.jsonl", os.write, 700

    def scarce(file: int, content: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(28, "No space left on device")
        taken = write(file, bytes(content)[:room])
        room -= taken
        return taken

    monkeypatch.setattr(os, "write", scarce)
    with ResultFile.open(path, HEADER) as file:
        file.append(row("a"))
        with pytest.raises(DataError, match=r"No space left.*what is done is kept"):
            file.append(row("b"))
        room = 10_000
        file.append(row("c"))
    assert path.read_bytes().endswith(b"\n")
    assert [each.id for each in ResultFile.read(path).rows] == ["a", "c"]


def test_the_disk_is_made_to_write_now_and_then_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, safe = tmp_path / "r.jsonl", []
    monkeypatch.setattr(os, "fsync", lambda _: safe.append(len(ResultFile.read(path).rows)))
    written(path, *(row(str(number)) for number in range(2 * SAFE_EVERY + 1)))
    assert safe == [SAFE_EVERY, 2 * SAFE_EVERY, 2 * SAFE_EVERY + 1]


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the results .*none\.jsonl"):
        ResultFile.read(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match=r"cannot write the results"):
        ResultFile.open(tmp_path, HEADER)


def test_result_files_can_be_shared(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        assert written(tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(mask)


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    file = ResultFile.open(tmp_path / "r.jsonl", HEADER)
    file.close()
    file.close()
