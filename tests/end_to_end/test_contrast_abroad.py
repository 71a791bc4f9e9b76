"""CHR and RaCoT on the embedded models, asked in Chinese and Arabic; documents are in three languages."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from distinguo import Distinguo
from distinguo.config.places import Places
from distinguo.running.explaining import explain
from distinguo.running.traces import load
from doubles.stored import stored

CHINESE = "谁赢得了第 49 届超级碗？"
ARABIC = "من هو الرئيس الكولومبي الذي ارتاد هارفارد؟"
SCRIPTS = {CHINESE: range(0x4E00, 0xA000), ARABIC: range(0x600, 0x700)}

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stored("qwen2.5-coder-1.5b-instruct")
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def library(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distinguo]:
    """Passages of XQuAD: two of them, in three languages."""
    data = Places.of(os.environ).data
    if data is None or not (data / "xquad").is_dir():
        pytest.skip("DISTINGUO_DATA has no folder 'xquad': its passages are no part of this repository")
    folder = tmp_path_factory.mktemp("passages")
    for line in (data / "xquad" / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        if passage["id"].partition("-")[2] in ("00-01", "31-04"):
            (folder / f"{passage['id']}.txt").write_text(passage["text"], encoding="utf-8")
    with Distinguo(home=home) as distinguo:
        distinguo.index(folder)
        yield distinguo


@pytest.mark.parametrize(("method", "question"), [("chr", CHINESE), ("racot", ARABIC)], ids=["chr", "racot"])
def test_it_ends_with_a_reason_and_a_query_in_another_script_is_told(
    library: Distinguo, home: Path, method: str, question: str
) -> None:
    result = library.ask(question, method=method)
    assert result.state in ("answered", "abstained"), result.outcome
    assert result.outcome.evidence
    explanation = explain(load(home / "traces", result.trace))
    (search,) = explanation.searches
    is_foreign = not any(ord(letter) in SCRIPTS[question] for letter in search.probes[0].text)
    told = [remark.name for remark in explanation.remarks]
    assert ("query in another script" in told) == is_foreign, search.probes
