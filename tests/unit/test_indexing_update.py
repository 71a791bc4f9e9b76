"""An index follows the places that it is made from."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from distinguo.backends.index.index import Index
from distinguo.backends.index.truth import FILE
from distinguo.backends.web.fetch import Page
from distinguo.documents.chunking import Chunking
from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.indexing.build import Recipe, Report
from distinguo.indexing.removal import remove
from distinguo.indexing.sources import Sources, root_of, there
from distinguo.indexing.update import update
from distinguo.records import Role
from distinguo.testing import HashEncoder, WordTokeniser


@dataclass
class Counting:
    """An encoder that remembers what it was asked."""

    fingerprint: str = "counting"
    dimension: int = 64
    asked: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str], role: Role):
        self.asked += texts
        return HashEncoder(self.dimension).encode(texts, role)


@dataclass
class Site:
    """Pages of the web by address."""

    pages: dict[str, Page | Exception] = field(default_factory=dict)

    async def fetch(self, url: str) -> Page:
        page = self.pages[url]
        if isinstance(page, Exception):
            raise page
        return page

    def put(self, url: str, content: bytes, kind: str = "text/html", charset: str = "") -> None:
        self.pages[url] = Page(url, content, kind, charset)


@dataclass
class House:
    """A folder with documents, an index, and what makes one of the other."""

    folder: Path
    recipe: Recipe = field(default_factory=lambda: Recipe(Counting(), WordTokeniser(), Chunking(8, 0)))
    site: Site = field(default_factory=Site)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def update(self, *roots: Path | str, prune: bool = False, **options) -> Report:
        recipe = self.recipe
        recipe.encoder.asked.clear()
        places = [str(root) for root in roots]
        return update(
            lambda: self.open(),
            lambda known: Sources(places, known, fetch=self.site.fetch),
            recipe,
            is_new=not (self.folder / "index" / FILE).exists(),
            prune=prune,
            **options,
        )

    def open(self) -> Index:
        return Index.make(self.folder / "index", self.recipe.fingerprint)

    def has(self) -> dict[str, str]:
        """The documents' texts by id, as the index is searched."""
        with Index.open(self.folder / "index", encoder=self.recipe.encoder.fingerprint) as index:
            assert index.check() == ()
            ids = [f"{id_}#1" for id_ in index.hashes()]
            return {passage.document: passage.text for passage in index.passages(ids)}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are parsed from now on."""
    from distinguo.documents.formats import plain

    names: list[str] = []
    real = plain.read

    def read(content: bytes, name: str):
        names.append(name)
        yield from real(content, name)

    monkeypatch.setattr(plain, "read", read)
    return names


def test_what_is_unchanged_is_neither_parsed_nor_embedded(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("docs/a.txt", "One.")
    b = house.write("docs/b.txt", "Two.")
    house.update(house.folder / "docs")
    names = parsed(monkeypatch)
    b.write_text("Three.", encoding="utf-8")
    os.utime(house.folder / "docs" / "a.txt")
    report = house.update(house.folder / "docs")
    assert (report.unchanged, report.changed, report.embedded) == (1, 1, 1)
    assert names == ["b.txt"]
    assert house.recipe.encoder.asked == ["b\nThree."]
    assert house.has() == {"a.txt": "One.", "b.txt": "Three."}


def test_of_two_first_runs_at_once_the_second_sees_what_the_first_has_made(house: House) -> None:
    house.write("one/a.txt", "One.")
    house.write("two/a.txt", "Another.")
    opened = house.open

    def late() -> Index:
        """Another process is through before this one is let in."""
        house.open = opened
        assert house.update(house.folder / "one").added == 1
        return opened()

    house.open = late
    with pytest.raises(DataError, match=r"the id 'a.txt' belongs to .*one"):
        house.update(house.folder / "two")
    assert house.has() == {"a.txt": "One."}


def test_what_is_gone_stays_and_is_told_or_goes_when_that_is_wanted(house: House) -> None:
    docs = house.folder / "docs"
    house.write("docs/a.txt", "One.")
    house.write("docs/b.txt", "Two.").unlink()
    gone = house.write("docs/sub/c.txt", "Three.")
    house.update(docs)
    gone.unlink()
    report = house.update(docs)
    assert (report.deleted, report.missing) == (0, ("sub/c.txt",))
    report = house.update(docs, prune=True)
    assert (report.deleted, report.missing, report.unchanged) == (1, (), 1)
    assert house.has() == {"a.txt": "One."}


def test_pruning_a_folder_leaves_what_came_from_others(house: House) -> None:
    house.write("one/a.txt", "One.")
    house.write("two/b.txt", "Two.").parent.joinpath("c.txt").write_text("Three.", encoding="utf-8")
    house.update(house.folder / "one", house.folder / "two")
    (house.folder / "one" / "a.txt").unlink()
    (house.folder / "two" / "b.txt").unlink()
    assert house.update(house.folder / "two", prune=True).deleted == 1
    assert house.has().keys() == {"a.txt", "c.txt"}


@pytest.mark.parametrize("how", ["missing", "empty", "a file now"])
def test_a_root_that_cannot_be_reached_loses_nothing(house: House, how: str) -> None:
    house.write("mounted/a.txt", "One.")
    house.write("here/b.txt", "Two.")
    roots = [house.folder / "mounted", house.folder / "here"]
    house.update(*roots)
    (house.folder / "mounted" / "a.txt").unlink()
    if how != "empty":
        (house.folder / "mounted").rmdir()
    if how == "a file now":
        house.write("mounted", "no folder")
    report = house.update(*roots, prune=True)
    assert (report.deleted, report.stale) == (0, ("a.txt",))
    assert any(str(roots[0]) == skipped.source for skipped in report.skipped)
    assert house.has().keys() == {"a.txt", "b.txt"}


def test_a_file_that_can_no_longer_be_read_keeps_its_document(house: House) -> None:
    docs = house.folder / "docs"
    a = house.write("docs/a.txt", "One.")
    house.write("docs/b.txt", "Two.")
    house.write("docs/c.jsonl", '{"id": "c1", "text": "Three."}\n{"id": "c2", "text": "Four."}\n')
    house.update(docs)
    a.write_bytes(b"\x89PNG\r\n")
    house.write("docs/c.jsonl", '{"id": "c1", "text": "Three."}\n{"id": "c2", "text": \n')
    report = house.update(docs, prune=True)
    assert (report.deleted, report.stale) == (0, ("a.txt", "c2"))
    assert {skipped.source for skipped in report.skipped} == {str(a), str(docs / "c.jsonl:2")}
    assert house.has() == {"a.txt": "One.", "b.txt": "Two.", "c1": "Three.", "c2": "Four."}


def test_a_line_that_is_gone_from_a_file_is_pruned(house: House) -> None:
    docs = house.folder / "docs"
    house.write("docs/c.jsonl", '{"id": "c1", "text": "Three."}\n{"id": "c2", "text": "Four."}\n')
    house.update(docs)
    house.write("docs/c.jsonl", '{"id": "c2", "text": "Four."}\n')
    assert house.update(docs, prune=True).deleted == 1
    assert house.has() == {"c2": "Four."}


def test_a_root_that_cannot_be_looked_at_loses_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write("shut/a.txt", "One.")
    house.write("here/b.txt", "Two.")
    roots = [house.folder / "shut", house.folder / "here"]
    house.update(*roots)
    real = os.stat

    def stat(path, *arguments, **options):
        if str(path).startswith(str(roots[0])):
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", stat)
    report = house.update(*roots, prune=True)
    assert (report.deleted, report.stale) == (0, ("a.txt",))
    assert [skipped.source for skipped in report.skipped] == [str(roots[0])]


def test_a_folder_that_cannot_be_listed_keeps_its_documents(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("docs/a.txt", "One.")
    house.write("docs/shut/b.txt", "Two.")
    house.update(house.folder / "docs")
    real = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path.name == "shut":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    report = house.update(house.folder / "docs", prune=True)
    assert (report.deleted, report.stale) == (0, ("shut/b.txt",))


def test_an_index_remembers_where_it_is_made_from(house: House) -> None:
    house.write("one/a.txt", "One.")
    house.write("two/b.txt", "Two.")
    house.update(house.folder / "one")
    house.update(house.folder / "two", house.folder / "one")
    with house.open() as index:
        assert index.roots() == (str(house.folder / "one"), str(house.folder / "two"))


def test_without_any_document_nothing_is_made_or_changed(house: House) -> None:
    house.write("docs/a.jpg", "no text")
    with pytest.raises(DataError, match=r"no document in .*docs .*a\.jpg: no reader"):
        house.update(house.folder / "docs")
    assert not (house.folder / "index").exists()
    (house.folder / "none").mkdir()
    with pytest.raises(DataError, match="nothing is there"):
        house.update(house.folder / "none")


def test_progress_tells_files_where_they_can_be_counted(house: House) -> None:
    for n in range(3):
        house.write(f"docs/{'sub/' * (n % 2)}{n}.txt", f"Number {n}.")
    seen: list[tuple[str, int, int]] = []
    house.update(house.folder / "docs", progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen == [("indexing", done, 3) for done in (1, 2, 3)]
    house.write("docs/many.jsonl", '{"id": 1, "text": "one"}\n{"id": 2, "text": "two"}\n')
    house.update(house.folder / "docs", progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("indexing", 5, 0)


URL = "http://docs.example/guide?page=1"


def test_a_page_is_a_document_whose_id_is_its_address(house: House) -> None:
    house.site.put(URL, b"<title>Guide</title><p>The north gate opens at seven.</p>")
    report = house.update(URL)
    assert report.added == 1
    with house.open() as index:
        (passage,) = index.passages([f"{URL}#1"])
        assert (passage.document, passage.source, passage.title) == (URL, URL, "Guide")
        assert index.roots() == (URL,)
    house.site.put(URL, b"<title>Guide</title><!-- 17 --><p>The north gate opens at seven.</p>")
    report = house.update(URL)
    assert (report.unchanged, report.passages, house.recipe.encoder.asked) == (1, 0, [])


@pytest.mark.parametrize(
    ("url", "kind", "charset", "content", "text"),
    [
        ("http://h/a.md", "text/plain", "", b"# Title\n\nGates open.", "Gates open."),
        ("http://h/a", "text/plain", "iso-8859-2", "Łódź gates.".encode("iso-8859-2"), "Łódź gates."),
        ("http://h/a.txt", "", "", b"Gates open.", "Gates open."),
        ("http://h/a", "text/x-unknown", "no-such-charset", b"Gates open.", "Gates open."),
        ("http://h/a.csv", "application/octet-stream", "", b"gate,hour\nnorth,seven\n", "north"),
        ("http://h/a", "text/html", "cp1251", "<p>Ворота открыты.</p>".encode("cp1251"), "Ворота открыты."),
    ],
)
def test_a_page_goes_to_the_reader_of_its_kind(
    house: House, url: str, kind: str, charset: str, content: bytes, text: str
) -> None:
    house.site.put(url, content, kind, charset)
    assert house.update(url).added == 1
    (found,) = house.has().values()
    assert text in found


def test_a_page_that_fails_keeps_its_document_and_spoils_nothing(house: House) -> None:
    house.site.put(URL, b"<p>The north gate opens at seven.</p>")
    house.write("docs/a.txt", "One.")
    house.update(URL, house.folder / "docs")
    house.site.pages[URL] = BackendError("HTTP 503", retryable=True)
    report = house.update(URL, house.folder / "docs", prune=True)
    assert (report.stale, report.unchanged) == ((URL,), 1)
    assert [(skipped.source, skipped.reason) for skipped in report.skipped] == [(URL, "HTTP 503")]
    house.site.put(URL, b"\xff\xd8\xff", "image/jpeg")
    assert "no reader for 'image/jpeg'" in house.update(URL, house.folder / "docs").skipped[0].reason


def test_places_are_whole_paths_or_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    assert root_of("docs/../docs/") == there("docs") == str(tmp_path / "docs")
    assert root_of("HTTP://Docs.example/a#b") == "http://docs.example/a"
    with pytest.raises(DataError, match="nothing to read at 'dcos'"):
        there("dcos")
    with pytest.raises(DataError, match="https://… are read"):
        there("file:///etc/hosts")
    for blank in ("", "  "):  # never the current folder
        with pytest.raises(ConfigError, match="names no place"):
            root_of(blank)
    with pytest.raises(ConfigError, match="leave it out"):
        there("https://me:secret@docs.example/")
    with pytest.raises(ConfigError, match="expected http"):
        there("http://")


def test_documents_are_removed_by_id_file_folder_or_address(house: House) -> None:
    house.site.put(URL, b"<p>The north gate opens at seven.</p>")
    for name in ("a", "b", "sub/c", "sub/d", "e"):
        house.write(f"docs/{name}.txt", f"Text {name}.")
    lines = house.write("many.jsonl", '{"id": "f", "text": "one"}\n{"id": "g", "text": "two"}\n')
    docs = house.folder / "docs"
    house.update(docs, URL, lines)
    with house.open() as index:
        removal = remove(index, ["a.txt", str(docs / "b.txt"), str(docs / "sub"), URL, str(lines)])
        assert removal.documents == ("a.txt", "b.txt", "f", "g", URL, "sub/c.txt", "sub/d.txt")
        assert removal.forgotten == (str(lines), URL)
        assert removal.returning == ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt")
        assert index.roots() == (str(docs),)
    assert house.has() == {"e.txt": "Text e."}
    with house.open() as index:
        for things in (["e.txt", "f.txt"], [str(house.folder / "doc")]):
            with pytest.raises(DataError, match="has no document"):
                remove(index, things)
        assert remove(index, [str(docs)]).forgotten == (str(docs),)
    assert house.has() == {}


def test_two_files_of_one_name_never_take_each_others_place(house: House) -> None:
    one, two = house.write("x/t/notes.md", "Alpha."), house.write("y/t/notes.md", "Beta.")
    house.update(one.parent)
    house.write("y/t/other.md", "Gamma.")
    (skipped,) = house.update(two.parent, prune=True).skipped
    assert skipped.source == str(two)
    assert str(one) in skipped.reason
    assert house.has() == {"notes.md": "Alpha.", "other.md": "Gamma."}
    one.unlink()
    assert house.update(two.parent).changed == 1
    assert house.has()["notes.md"] == "Beta."


def test_a_moved_file_takes_its_own_place(house: House) -> None:
    house.write("x/notes.md", "Alpha.")
    house.update(house.folder / "x")
    (house.folder / "x").rename(house.folder / "y")
    report = house.update(house.folder / "y")
    assert (report.changed, report.embedded, report.skipped) == (1, 0, ())
    with house.open() as index:
        assert index.sources() == {"notes.md": str(house.folder / "y" / "notes.md")}


def test_twins_in_two_places_fold_whichever_is_read_first(house: House) -> None:
    house.write("one/b.txt", "The same.")
    house.write("two/a.txt", "The same.")
    roots = [house.folder / "one", house.folder / "two"]
    report = house.update(*roots)
    assert [(folded.id, folded.same_as) for folded in report.folded] == [("b.txt", "a.txt")]
    assert house.has() == {"a.txt": "The same."}
    assert house.update(*roots[::-1]).unchanged == 1
    house.write("two/a.txt", "Something else.")
    report = house.update(*roots)
    assert (report.added, report.changed, report.folded) == (1, 1, ())
    (house.folder / "two" / "a.txt").unlink()
    house.write("two/c.txt", "the SAME")
    report = house.update(*roots[::-1], prune=True)
    assert (report.deleted, report.unchanged, len(report.folded)) == (1, 1, 1)
    assert house.has() == {"b.txt": "The same."}


def test_a_file_keeps_its_id_whichever_folder_above_it_is_read(house: House) -> None:
    file = house.write("docs/sub/b.txt", "The toll is five.")
    house.update(file.parent)
    file.write_text("The toll is seven.", encoding="utf-8")
    report = house.update(house.folder / "docs")
    assert (report.changed, report.added, report.missing) == (1, 0, ())
    assert house.has() == {"b.txt": "The toll is seven."}


def test_roots_within_roots_are_read_in_silence_and_pruned_by_the_outer_one(house: House) -> None:
    a, b = house.write("docs/a.txt", "One."), house.write("docs/sub/b.txt", "Two.")
    docs = house.folder / "docs"
    house.update(docs)
    report = house.update(docs, a, b.parent)
    assert (report.unchanged, report.skipped) == (2, ())
    a.unlink()
    report = house.update(docs, a, prune=True)
    assert (report.deleted, report.stale) == (1, ())
    assert [skipped.source for skipped in report.skipped] == [str(a)]
    assert "`distinguo remove`" in report.skipped[0].reason
    assert house.has() == {"sub/b.txt": "Two."}


@pytest.mark.parametrize("url", ["http://docs.example/Genesis_1:12", "http://docs.example:8080"])
def test_an_address_may_end_in_a_number(house: House, url: str) -> None:
    house.site.put(url, b"<p>The north gate opens at seven.</p>")
    house.update(url)
    house.site.put(url, b'{"id": "x", "text": "One."}\n', "application/jsonl")
    report = house.update(url, prune=True)
    assert (report.added, report.deleted) == (1, 1)
    house.site.put(url, b'{"id": "x", "text": "One."}\n{"id": "y"}\n', "application/jsonl")
    assert [skipped.source for skipped in house.update(url).skipped] == [f"{url}#line=2"]
    with house.open() as index:
        assert index.sources() == {"x": f"{url}#line=1"}
        assert remove(index, [url]).documents == ("x",)
