"""The full MiniLM under the real sentence-transformers, beside the embedded int8 one. Needs torch."""

from pathlib import Path

import numpy as np
import pytest

from doubles.stored import stored

pytestmark = pytest.mark.train

TEXTS = [
    "The ferry to Ellerholm leaves the mainland at noon.",
    "When does the ferry leave?",
    "A seal of 25 kg receives 1 mg of Calvoryn.",
    "ferry",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder made of the stored weights and tokeniser."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    weights = stored("all-minilm-l6-v2")
    here = tmp_path_factory.mktemp("minilm")
    config = BertConfig(
        vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    (here / "bert").mkdir()
    config.save_pretrained(here / "bert")
    (here / "bert" / "model.safetensors").symlink_to(weights / "model.safetensors")
    model = BertModel.from_pretrained(here / "bert")
    model.save_pretrained(here / "whole")
    tokeniser = BertTokenizerFast(tokenizer_file=str(weights / "tokenizer.json"), model_max_length=256)
    tokeniser.save_pretrained(here / "whole")
    words = Transformer(str(here / "whole"), max_seq_length=256)
    modules = [words, Pooling(384, pooling_mode="mean"), Normalize()]
    SentenceTransformer(modules=modules).save(str(here / "model"))
    return here / "model"


def test_it_gives_the_vectors_of_the_embedded_encoder(folder: Path) -> None:
    from distinguo.backends.embedding.minilm import MiniLM
    from distinguo.backends.embedding.sentence_transformers import SentenceTransformersEncoder

    full = SentenceTransformersEncoder(str(folder), offline=True)
    small = MiniLM(stored("all-minilm-l6-v2-int8"))
    pairs = zip(full.encode(TEXTS, "passage"), small.encode(TEXTS, "passage"), strict=True)
    assert [bool(np.dot(one, other) > 0.99) for one, other in pairs] == [True] * len(TEXTS)
    assert full.dimension == small.dimension == 384
    assert full.fingerprint != small.fingerprint
