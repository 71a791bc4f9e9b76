"""Runs a sentence encoder of the MiniLM kind, exported to ONNX, on OpenVINO."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, cast, final

from distinguo.errors import BackendError, ConfigError, DataError
from distinguo.records import Role
from distinguo.trace import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openvino import CompiledModel
    from tokenizers import Encoding, Tokenizer

    from distinguo.protocols import Matrix, Vector

logger = logging.getLogger(__name__)

MAX_TOKENS: Final = 256  # the model's card: it was trained on no more
POSITIONS: Final = 512  # the model can number no more tokens

# Measured on 2 cores, 200 texts of 8 to 160 words, sorted by length: 16 and 32 are 1.3 and 2 times slower.
BATCH: Final = 8
# Every new shape costs memory that OpenVINO keeps: 746 MB after 300 batches of any width, 320 MB of these.
WIDTH_STEP: Final = 16
# OpenVINO would quantise activations as well. That is 1.25 times as fast, but a text's vector then depends on
# the texts of its batch by up to 2.5e-3 (8e-4 without), and its cosine to the full model's is .9992 (.9994).
SETTINGS: Final = {"PERFORMANCE_HINT": "LATENCY", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}


@final
class HuggingFaceTokeniser:
    """A `Tokeniser` read from a ``tokenizer.json``. Safe in many threads: once made, it is never changed."""

    def __init__(self, path: Path) -> None:
        """Read `path`. Raises `DataError`."""
        from tokenizers import Tokenizer

        try:
            content = path.read_bytes()
            self._tokenizer: Tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the Rust side raises nothing narrower
            raise DataError(f"cannot read the tokeniser {str(path)!r}: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._fingerprint = f"tokenizer@{hashlib.sha256(content).hexdigest()[:12]}"

    @property
    def fingerprint(self) -> str:
        """The hash of the file."""
        return self._fingerprint

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character spans of the tokens of `text`, in order, without special ones. Raises `BackendError`."""
        return self._encode([text], is_framed=False)[0].offsets

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers of every text, framed by the special tokens, uncut. Raises `BackendError`."""
        return [encoding.ids for encoding in self._encode(texts, is_framed=True)]

    def _encode(self, texts: Sequence[str], *, is_framed: bool) -> list[Encoding]:
        try:
            return self._tokenizer.encode_batch(list(texts), add_special_tokens=is_framed)
        except TypeError as error:
            raise BackendError(
                "a text holds half a surrogate pair; expected whole Unicode characters"
            ) from error


@final
class MiniLM:
    """An `Encoder`: the mean of the last layer over a text's tokens, L2-normalised. Safe in many threads.

    It is a `TokenEncoder` too, by the rows of that layer, though it was trained for their mean alone.
    Queries and passages are encoded alike. A text of more than `max_tokens` is cut, which a trace note and
    the log say. The same text gets the same vector within a call, and within 1e-3 whatever its company.
    """

    def __init__(self, folder: Path, *, max_tokens: int = MAX_TOKENS, threads: int | None = None) -> None:
        """Load the model.

        Args:
            folder: holds ``model.onnx`` and ``tokenizer.json``; its name is the model's.
            max_tokens: 3 to 512, special tokens included.
            threads: how many to compute with; None means one per core.

        Raises:
            ConfigError: `max_tokens` or `threads` is out of range.
            DataError: the files cannot be read.
        """
        if not 3 <= max_tokens <= POSITIONS:
            raise ConfigError(f"max_tokens is {max_tokens!r}; expected 3 to {POSITIONS}")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads is {threads!r}; expected at least 1")
        path = folder / "model.onnx"
        self.tokeniser: Final = HuggingFaceTokeniser(folder / "tokenizer.json")
        self._name = folder.name
        self._max_tokens = max_tokens
        self._model = _compile(path, threads)
        self._inputs = {port.get_any_name() for port in self._model.inputs}
        self._dimension = self._model.output(0).partial_shape[-1].get_length()
        self._fingerprint = (
            f"{folder.name} model@{_sha256(path)[:12]} {self.tokeniser.fingerprint} mean {max_tokens} tokens"
        )
        self._lock = Lock()

    @property
    def fingerprint(self) -> str:
        """Name, hashes of model and tokeniser, pooling and limit; there are no prefixes."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """Float32 vectors of length 1, shape (dimension,), in the order of `texts`. Raises `BackendError`."""
        return self._each(texts, self._pool)

    def encode_tokens(self, texts: Sequence[str], role: Role) -> Sequence[Matrix]:
        """Float32 rows of length 1, shape (tokens, dimension), special tokens left out; `texts`' order."""
        return self._each(texts, self._rows)

    def _each(
        self, texts: Sequence[str], read: Callable[[Matrix, Sequence[int]], Sequence[Vector]]
    ) -> Sequence[Vector]:
        """What `read` makes of the last layer, shape (texts, width, dimension), and the texts' lengths."""
        values: dict[str, Vector] = {}
        for batch in self._batches(list(dict.fromkeys(texts))):
            hidden = self._infer(list(batch.values()))
            lengths = [len(tokens) for tokens in batch.values()]
            values.update(zip(batch, read(hidden, lengths), strict=True))
        return [values[text] for text in texts]

    def _batches(self, texts: Sequence[str]) -> Generator[dict[str, list[int]]]:
        """Texts with their cut tokens, texts of like length together."""
        cut = sorted(
            zip(texts, map(self._cut, self.tokeniser.ids(texts)), strict=True), key=lambda pair: len(pair[1])
        )
        for start in range(0, len(cut), BATCH):
            yield dict(cut[start : start + BATCH])

    def _cut(self, ids: list[int]) -> list[int]:
        """At most `max_tokens` of `ids`; the last stays, since it ends the text."""
        if len(ids) <= self._max_tokens:
            return ids
        note("text cut", encoder=self._name, tokens=len(ids), kept=self._max_tokens)
        logger.info("%s: a text of %d tokens was cut to %d", self._name, len(ids), self._max_tokens)
        return [*ids[: self._max_tokens - 1], ids[-1]]

    def _pool(self, hidden: Matrix, lengths: Sequence[int]) -> Sequence[Vector]:
        import numpy as np

        means = [rows[:length].mean(axis=0) for rows, length in zip(hidden, lengths, strict=True)]
        return list(self._normal(np.stack(means)))

    def _rows(self, hidden: Matrix, lengths: Sequence[int]) -> Sequence[Matrix]:
        """The first and the last token of every text are the special ones."""
        return [self._normal(rows[1 : length - 1]) for rows, length in zip(hidden, lengths, strict=True)]

    def _normal(self, rows: Matrix) -> Matrix:
        import numpy as np

        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise BackendError(f"encoder {self._name!r} gave a vector without finite length")
        return (rows / lengths).astype(np.float32)

    def _infer(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The last layer, shape (texts, width, dimension)."""
        import numpy as np

        width = -(-max(map(len, batch)) // WIDTH_STEP) * WIDTH_STEP
        ids = np.zeros((len(batch), width), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
        try:
            with self._lock:
                output = self._model({name: known[name] for name in self._inputs})[0]
        except RuntimeError as error:
            raise BackendError(f"encoder {self._name!r} failed: {error}") from error
        return cast("NDArray[np.float32]", output)


def _compile(path: Path, threads: int | None) -> CompiledModel:
    # OpenVINO reports its own import to its makers, unless their reporting package is out of reach.
    cast("dict[str, object]", sys.modules).setdefault("openvino_telemetry", None)
    from openvino import Core

    settings = SETTINGS if threads is None else {**SETTINGS, "INFERENCE_NUM_THREADS": str(threads)}
    try:
        return Core().compile_model(path, "CPU", settings)
    except RuntimeError as error:
        raise DataError(f"OpenVINO cannot load {str(path)!r}: {error}") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
