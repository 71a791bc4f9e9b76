"""What a MiniLM encoder does around its model: batches, cuts, orders, checks. The model is a double."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from distinguo.backends.embedding import minilm
from distinguo.backends.embedding.minilm import HuggingFaceTokeniser, MiniLM
from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.protocols import Encoder, TokenEncoder, Tokeniser
from distinguo.trace import Trace, tracing

WORDS = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3, "cat": 4, "dog": 5}


class DoubledModel:
    """Tells for each token which word it is: the pooled vector counts words."""

    def __init__(self, answer: Callable[[np.ndarray], np.ndarray] = lambda hidden: hidden) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self._answer = answer
        self.inputs = [
            SimpleNamespace(get_any_name=lambda name=name: name) for name in ("input_ids", "attention_mask")
        ]

    def output(self, _: int) -> Any:
        return SimpleNamespace(partial_shape=[None, None, SimpleNamespace(get_length=lambda: len(WORDS))])

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        assert set(inputs) == {"input_ids", "attention_mask"}
        self.shapes.append(inputs["input_ids"].shape)
        return [self._answer(np.eye(len(WORDS), dtype=np.float32)[inputs["input_ids"]])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder whose tokeniser knows a cat and a dog."""
    tokenizer = Tokenizer(WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=6)
    home = tmp_path / "little"
    home.mkdir()
    tokenizer.save(str(home / "tokenizer.json"))
    (home / "model.onnx").write_bytes(b"weights")
    return home


@pytest.fixture
def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., MiniLM]:
    def loaded(model: DoubledModel | None = None, **options: int) -> MiniLM:
        monkeypatch.setattr(minilm, "_compile", lambda *_: model or DoubledModel())
        return MiniLM(folder, **options)

    return loaded


Load = Callable[..., MiniLM]


def expected(*words: str) -> np.ndarray:
    """The vector of a text of these words, counted."""
    counts = np.zeros(len(WORDS), np.float32)
    for word in words:
        counts[WORDS[word]] += 1
    return counts / np.linalg.norm(counts)


def test_a_vector_is_the_mean_over_the_tokens_and_not_the_padding(load: Load) -> None:
    encoder: Encoder = load()
    (cat, cats) = encoder.encode(["cat", "cat cat dog"], "passage")
    assert np.allclose(cat, expected("[CLS]", "cat", "[SEP]"))
    assert np.allclose(cats, expected("[CLS]", "cat", "cat", "dog", "[SEP]"))
    assert cat.dtype == np.float32


def test_every_token_but_the_special_ones_has_a_row(load: Load) -> None:
    encoder: TokenEncoder = load(DoubledModel(lambda hidden: 7 * hidden))
    long, short = encoder.encode_tokens(["cat cat dog", "dog"], "passage")
    assert np.array_equal(long, [expected(word) for word in ("cat", "cat", "dog")])
    assert np.array_equal(short, [expected("dog")])
    assert long.dtype == np.float32


def test_a_text_without_tokens_has_no_rows(load: Load) -> None:
    assert [rows.shape for rows in load().encode_tokens(["", "cat"], "query")] == [(0, 6), (1, 6)]
    assert load().encode_tokens([], "query") == []


def test_rows_end_where_a_long_text_is_cut(load: Load) -> None:
    (rows,) = load(max_tokens=5).encode_tokens(["cat dog cat dog cat dog"], "passage")
    assert np.array_equal(rows, [expected(word) for word in ("cat", "dog", "cat")])


def test_a_token_without_finite_length_is_an_error(load: Load) -> None:
    with pytest.raises(BackendError, match="finite length"):
        load(DoubledModel(lambda hidden: 0 * hidden)).encode_tokens(["cat"], "query")


def test_texts_of_like_length_share_a_batch_and_come_back_in_order(load: Load) -> None:
    model = DoubledModel()
    texts = ["cat " * n + "dog" for n in range(40)]
    shuffled = texts[1::2] + texts[::2]
    vectors = load(model).encode(shuffled, "passage")
    assert [rows for rows, _ in model.shapes] == [8] * 5
    assert [width for _, width in model.shapes] == [16, 32, 32, 48, 48]
    for text, vector in zip(shuffled, vectors, strict=True):
        assert np.allclose(vector, expected("[CLS]", *text.split(), "[SEP]"))


def test_a_text_that_stands_twice_is_computed_once(load: Load) -> None:
    model = DoubledModel()
    vectors = load(model).encode(["cat", "dog", "cat"], "query")
    assert model.shapes == [(2, 16)]
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])


def test_no_text_is_no_work_and_an_empty_text_has_a_vector(load: Load) -> None:
    model = DoubledModel()
    encoder = load(model)
    assert encoder.encode([], "passage") == []
    assert model.shapes == []
    assert np.allclose(encoder.encode([""], "passage")[0], expected("[CLS]", "[SEP]"))


def test_a_long_text_is_cut_at_the_limit_and_the_trace_says_so(load: Load) -> None:
    trace = Trace("t", "q")
    encoder = load(max_tokens=5)
    with tracing(trace):
        exact, long = encoder.encode(["cat cat cat", "cat cat cat dog dog"], "passage")
    assert np.allclose(exact, expected("[CLS]", "cat", "cat", "cat", "[SEP]"))
    assert np.array_equal(exact, long)
    assert [(event.name, event.fields) for event in trace.events] == [
        ("text cut", {"encoder": "little", "tokens": 7, "kept": 5})
    ]


@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0])
def test_a_vector_without_length_is_an_error(load: Load, broken: float) -> None:
    encoder = load(DoubledModel(lambda hidden: np.full_like(hidden, broken)))
    with pytest.raises(BackendError, match="'little' gave a vector without finite length"):
        encoder.encode(["cat"], "query")


def test_an_error_of_the_runtime_is_translated(load: Load) -> None:
    def fail(_: np.ndarray) -> np.ndarray:
        raise RuntimeError("out of memory")

    with pytest.raises(BackendError, match="'little' failed: out of memory"):
        load(DoubledModel(fail)).encode(["cat"], "query")


def test_the_fingerprint_tells_model_tokeniser_and_limit_apart(load: Load, folder: Path) -> None:
    prints = [load().fingerprint, load().fingerprint, load(max_tokens=12).fingerprint]
    (folder / "model.onnx").write_bytes(b"other weights")
    prints.append(load().fingerprint)
    tokeniser = folder / "tokenizer.json"
    tokeniser.write_text(tokeniser.read_text(encoding="utf-8").replace("dog", "god"), encoding="utf-8")
    prints.append(load().fingerprint)
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4
    assert all(text.startswith("little ") for text in prints)
    assert load().dimension == len(WORDS)


@pytest.mark.parametrize("options", [{"max_tokens": 2}, {"max_tokens": 513}, {"threads": 0}])
def test_settings_out_of_range_are_refused(load: Load, options: dict[str, int]) -> None:
    with pytest.raises(
        ConfigError, match=f"{next(iter(options))} is {next(iter(options.values()))}; expected"
    ):
        load(**options)


def test_a_damaged_model_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(DataError, match=r"OpenVINO cannot load '.*model\.onnx'"):
        MiniLM(folder)


@pytest.mark.parametrize("content", [None, "", "{}"])
def test_a_damaged_tokeniser_is_refused_by_name(folder: Path, content: str | None) -> None:
    path = folder / "tokenizer.json"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"cannot read the tokeniser '.*tokenizer\.json'"):
        HuggingFaceTokeniser(path)


def test_spans_are_the_tokens_of_the_whole_text(folder: Path) -> None:
    tokeniser: Tokeniser = HuggingFaceTokeniser(folder / "tokenizer.json")
    text = "cat  dog, ünïcode 国際 " * 3
    assert [text[start:end] for start, end in tokeniser.spans(text)] == [
        "cat",
        "dog",
        ",",
        "ünïcode",
        "国際",
    ] * 3
    assert list(tokeniser.spans("")) == []


def test_half_a_surrogate_pair_is_an_error_not_a_crash(load: Load) -> None:
    encoder = load()
    for call in (lambda: encoder.encode(["a\ud800b"], "query"), lambda: encoder.tokeniser.spans("a\ud800b")):
        with pytest.raises(BackendError, match="surrogate"):
            call()
