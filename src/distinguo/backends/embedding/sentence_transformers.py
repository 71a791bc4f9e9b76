"""Any text encoder that the sentence-transformers package runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, final

from distinguo.errors import BackendError, ConfigError
from distinguo.records import Role

if TYPE_CHECKING:
    from distinguo.protocols import Vector

WEIGHTS_AND_SETTINGS: Final = ("*.safetensors", "*.bin", "*.json", "*.txt")


@final
class SentenceTransformersEncoder:
    """An `Encoder` of the model's own pooling and prompts, those for queries and passages apart.

    Safe in many threads, which take turns. The package cuts long texts at the model's limit without a word.
    """

    def __init__(self, model: str, *, revision: str = "main", offline: bool = False) -> None:
        """Load the model.

        Args:
            model: a name on the model hub, or the path of a folder.
            revision: branch, tag or commit on the hub; only a commit tells one set of weights from another.
            offline: read what was downloaded before, and fetch nothing.

        Raises:
            ConfigError: sentence-transformers is not installed, or has no such model.
        """
        try:
            package: Any = import_module("sentence_transformers")
        except ImportError as error:
            raise ConfigError(
                f"encoder {model!r} needs the package sentence-transformers; "
                "install it with `pip install sentence-transformers`"
            ) from error
        try:
            self._model: Any = package.SentenceTransformer(
                model, revision=revision, local_files_only=offline, trust_remote_code=False
            )
        except (OSError, ValueError) as error:
            hint = "nothing is fetched while offline" if offline else "check its name or path"
            raise ConfigError(f"sentence-transformers cannot load {model!r}; {hint}: {error}") from error
        self._name = model
        self._lock = Lock()
        self._dimension = len(self.encode(["dimension"], "query")[0])
        self._fingerprint = (
            f"sentence-transformers {_identity(model, revision)} {self._model.max_seq_length} tokens"
        )

    @property
    def fingerprint(self) -> str:
        """Name and revision, or for a folder the hash of its files; and the length limit."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def encode(self, texts: Sequence[str], role: Role) -> Sequence[Vector]:
        """Float32 vectors of length 1, shape (dimension,), in the order of `texts`. Raises `BackendError`."""
        if not texts:
            return []
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        try:
            with self._lock:
                vectors = encode(
                    list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
                )
        except (RuntimeError, ValueError, TypeError) as error:
            raise BackendError(f"encoder {self._name!r} failed: {error}") from error
        return list(vectors.astype("float32"))


def _identity(model: str, revision: str) -> str:
    folder = Path(model)
    if not folder.is_dir():
        return f"{model}@{revision}"
    whole = hashlib.sha256()
    for path in sorted(path for pattern in WEIGHTS_AND_SETTINGS for path in folder.rglob(pattern)):
        with path.open("rb") as content:
            whole.update(hashlib.file_digest(content, "sha256").digest())
    return f"{folder.name}@{whole.hexdigest()[:12]}"
