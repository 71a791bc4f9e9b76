"""Finds a benchmark's files: a folder with `questions.jsonl`, and maybe `corpus.jsonl` and `qrels.tsv`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import final

from distinguo.datasets.lines import identifier, json_object, read_lines
from distinguo.datasets.questions import read_questions
from distinguo.errors import ConfigError, DataError
from distinguo.records import Example


@final
@dataclass(frozen=True, slots=True)
class Folder:
    """A set's folder. Its corpus is a file of documents, which `distinguo.documents` reads."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name

    @property
    def questions(self) -> Path:
        """The questions; always there."""
        return self.path / "questions.jsonl"

    @property
    def corpus(self) -> Path | None:
        """The documents, if the set has its own."""
        return _existing(self.path / "corpus.jsonl")

    @property
    def qrels(self) -> Path | None:
        """Graded judgements, if the set has any."""
        return _existing(self.path / "qrels.tsv")

    def examples(
        self,
        *,
        split: str = "",
        tags: Collection[str] = (),
        sample: int | None = None,
        seed: int = 0,
        skip: int = 0,
    ) -> tuple[Example, ...]:
        """Its questions that have all `tags`, or a sample of them; see `sampled`.

        Raises `DataError`, also for gold that the corpus lacks, and for tags that no question has.
        """
        found = tagged(read_questions(self.questions, split=split), tags)
        if self.corpus is not None:
            lost = dangling(found, document_ids(self.corpus))
            if lost:
                raise DataError(
                    f"gold documents of {str(self.questions)!r} are not in {str(self.corpus)!r}: "
                    + "; ".join(f"{id_!r} (question {question!r})" for question, id_ in lost)
                )
        return found if sample is None else sampled(found, sample, seed=seed, skip=skip)


def find_folder(name: str, root: Path | None = None) -> Folder:
    """The set at the path `name`, or of that name under `root`. Raises `ConfigError`."""
    for path in (Path(name), *([root / name] if root else [])):
        if (path / "questions.jsonl").is_file():
            return Folder(path)
    there = sorted(path.parent.name for path in root.glob("*/questions.jsonl")) if root else []
    likely = get_close_matches(name, there, 1)
    hint = f"; did you mean {likely[0]!r}?" if likely else f"; there are {there!r}" if there else ""
    looked = f" or under {str(root)!r}" if root else ""
    raise ConfigError(f"no set {name!r}: no folder with a 'questions.jsonl' at that path{looked}{hint}")


def tagged(examples: Sequence[Example], tags: Collection[str]) -> tuple[Example, ...]:
    """Those of `examples` that have all `tags`. Raises `DataError` if there is none."""
    found = tuple(example for example in examples if set(tags) <= set(example.tags))
    if not found:
        there = sorted({tag for example in examples for tag in example.tags})
        raise DataError(f"no question has the tags {sorted(tags)!r}; there are {there!r}")
    return found


def sampled(examples: Sequence[Example], size: int, *, seed: int = 0, skip: int = 0) -> tuple[Example, ...]:
    """`size` of `examples` (all, if there are fewer), in their order.

    Whether a question is drawn depends on its id and `seed`, not on the order of the file; a larger sample of
    the same seed has all questions of a smaller one. One that skips as many as another draws has none of its
    questions: what is tuned on one can be tried on the other. Raises `ConfigError` if `size` is not positive
    or nothing is left.
    """
    if size < 1:
        raise ConfigError(f"a sample of {size} questions: expected at least 1")
    lots = sorted(examples, key=lambda one: _lot(one, seed))[skip : skip + size]
    if not lots:
        raise ConfigError(f"a sample that skips {skip} of {len(examples)} questions has none left")
    drawn = {example.question.id for example in lots}
    return tuple(example for example in examples if example.question.id in drawn)


def dangling(examples: Iterable[Example], known: Collection[str]) -> tuple[tuple[str, str], ...]:
    """All (question id, gold id) whose gold id is not among the `known` ids of documents, in order."""
    return tuple(
        (example.question.id, id_) for example in examples for id_ in example.gold_ids if id_ not in known
    )


def document_ids(corpus: Path) -> frozenset[str]:
    """The ids of a corpus file. Raises `DataError`."""
    return frozenset(read_lines(corpus, lambda line: identifier(json_object(line))))


def _lot(example: Example, seed: int) -> bytes:
    return sha256(f"{seed}\0{example.question.id}".encode()).digest()


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
