"""Ask the forty questions of the sample corpus, and count what came of it.

    python examples/ask_all.py [METHOD …]

*Right* means normalised containment: an accepted answer is part of what was said, or what was said is part of
an accepted answer. Where the corpus has no answer, only silence is right.
"""

import json
import re
import sys
import tempfile
import time
from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

from distinguo import Distinguo
from distinguo.records import Answer, Result

HERE = Path(__file__).parent
Row = dict[str, Any]


def questions() -> list[Row]:
    """The forty questions with their gold."""
    return [json.loads(line) for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def is_right(row: Row, result: Result) -> bool:
    """Whether `result` is what the corpus says, or the silence that its silence asks for."""
    if not row["answers"]:
        return result.state == "abstained"
    if not isinstance(result.outcome, Answer):
        return False
    said = plain(result.outcome.text)
    return any(plain(gold) in said or said in plain(gold) for gold in row["answers"])


def plain(text: str) -> str:
    """`text` without case and punctuation, but with the signs that numbers and times need."""
    return re.sub(r"[^\w.:/]+", " ", text.casefold()).strip()


def interval(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    centre, spread = right + z * z / 2, z * sqrt(right * (n - right) / n + z * z / 4)
    return (centre - spread) / (n + z * z), (centre + spread) / (n + z * z)


def table(rows: list[Row], results: tuple[Result, ...]) -> str:
    """One line per kind of question."""
    lines = [
        "| questions | n | right (95 %) | answered | abstained | unreadable | failed |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        pairs = [(row, result) for row, result in zip(rows, results, strict=True) if row["kind"] == kind]
        right, n = sum(is_right(row, result) for row, result in pairs), len(pairs)
        states = Counter(result.state for _, result in pairs)
        low, high = interval(right, n)
        counts = " | ".join(str(states[state]) for state in ("answered", "abstained", "unreadable", "failed"))
        lines.append(f"| {kind} | {n} | {right} ({low:.2f}–{high:.2f}) | {counts} |")
    return "\n".join(lines)


def main(methods: list[str]) -> None:
    """Index, ask with each method in a home of its own, print."""
    rows = questions()
    with tempfile.TemporaryDirectory() as home, Distinguo(home=home) as d:
        d.index(HERE / "corpus")
        for method in methods:
            began = time.perf_counter()
            results = d.ask_all((row["question"] for row in rows), method=method)
            print(f"{method}, {time.perf_counter() - began:.0f} s\n\n{table(rows, results)}\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["hybrid"])
