"""A whole Distinguo on a double server: real index, cache and files, a scripted model, word-hash vectors."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distinguo.testing import HashEncoder
from doubles.openai_server import Asked, Script, Server, serving

ENCODER = HashEncoder()

CONFIG = """
[models.default]
llm = {{ url = "{url}", model = "double" }}
[indexes.default]
encoder = {{ url = "{url}", model = "double", dimension = {dimension} }}
"""

CORPUS = {
    "gates.md": "# Gates\n\nThe north gate opens at seven. The south gate opens at nine.\n",
    "boats.md": "# Boats\n\nThe ferry to Ellerholm leaves at noon.\n",
}


def says(answer: str | None, *citations: int) -> str:
    return json.dumps({"is_stated": answer is not None, "answer": answer, "citations": list(citations)})


def first_passage(asked: Asked) -> str:
    """Answers with the first word of the first passage, and cites it."""
    if 'number="1"' not in asked.last:
        return json.dumps({"answer": None})
    return says(asked.last.splitlines()[1].split()[0], 1)


@contextmanager
def house(folder: Path, script: Script = first_passage, config: str = "") -> Iterator[Server]:
    """A server, and in `folder` its configuration ``distinguo.toml`` and the documents ``corpus/``."""
    with serving(
        script, embed=lambda text: [float(x) for x in ENCODER.encode([text], "passage")[0]]
    ) as server:
        written = CONFIG.format(url=server.url, dimension=ENCODER.dimension) + config
        (folder / "distinguo.toml").write_text(written, encoding="utf-8")
        (folder / "corpus").mkdir()
        for name, text in CORPUS.items():
            (folder / "corpus" / name).write_text(text, encoding="utf-8")
        yield server


def write_set(folder: Path) -> None:
    """A set of four questions over the documents of the house; ``gates.md`` has their answers."""
    folder.mkdir(parents=True)
    documents = [{"id": name, "text": text} for name, text in CORPUS.items()]
    questions = [
        {"id": f"q{n}", "question": f"When does gate {n} open?", "answers": ["#"], "gold_ids": ["gates.md"]}
        for n in range(4)
    ]
    for name, lines in (("corpus", documents), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
