"""Factories of models: each signature is what a configuration can say of one."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, final
from urllib.parse import urlsplit, urlunsplit

from distinguo.backends.index.qdrant import Server
from distinguo.config.places import located
from distinguo.config.signatures import Within
from distinguo.errors import ConfigError
from distinguo.models.store import Progress, Store
from distinguo.protocols import LLM, Encoder, TokenEncoder, Tokeniser
from distinguo.text.pieces import Pieces

FRAME: Final = 2
"""Special tokens that MiniLM puts around a text."""

Seconds = Annotated[float, Within(0.001)]


@final
@dataclass(frozen=True, slots=True)
class Model:
    """A language model, what tells it from all others (replies are kept under this identity), and its end."""

    llm: LLM
    identity: str
    aclose: Callable[[], Awaitable[None]]


@final
@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoder, the tokens by which passages are measured, and how many it reads (0: unknown).

    `tokens` gives their vectors; None: it tells of whole texts alone.
    """

    encoder: Encoder
    tokeniser: Tokeniser
    limit: int = 0
    tokens: TokenEncoder | None = None


@final
@dataclass(frozen=True, slots=True)
class Shelf:
    """The models on disk; what is missing is fetched, and `progress` told."""

    store: Store
    progress: Progress | None = None

    def get(self, name: str) -> Path:
        """The folder of the model `name`, whole and checked."""
        return self.store.get(name, progress=self.progress)

    def fingerprint(self, name: str) -> str:
        """What tells the model `name` from every other."""
        return self.store.fingerprint(name)


def openvino(model: str, shelf: Shelf) -> Model:
    """A GGUF model of the catalogue, run by OpenVINO GenAI in a process of its own."""
    from distinguo.backends.llm.openvino import OpenVinoLLM

    llm = OpenVinoLLM(shelf.get(model) / "model.gguf", name=model)
    return Model(llm, f"openvino {shelf.fingerprint(model)}", llm.aclose)


def llamacpp(model: str, shelf: Shelf) -> Model:
    """Any GGUF file, by path or by name in the catalogue, run by llama.cpp in a process of its own."""
    from distinguo.backends.llm.llamacpp import LlamaCppLLM

    if model.endswith(".gguf"):
        path = located(model)
        try:
            state = path.stat()
        except OSError as error:
            raise ConfigError(f"the model file {model!r} cannot be read: {error.strerror}") from error
        identity = f"llamacpp {path} {state.st_size} {state.st_mtime_ns}"
    else:
        path, identity = shelf.get(model) / "model.gguf", f"llamacpp {shelf.fingerprint(model)}"
    llm = LlamaCppLLM(path, name=model)
    return Model(llm, identity, llm.aclose)


def openai(url: str, model: str, key_env: str = "", stall: Seconds = 120.0, total: Seconds = 600.0) -> Model:
    """Any OpenAI-compatible chat endpoint; the key is in the environment variable `key_env`."""
    from distinguo.backends.llm.openai import OpenAICompatible

    llm = OpenAICompatible(url, model, _key(key_env), stall, total)
    return Model(llm, f"openai {_address(url)} {model}", llm.aclose)


def minilm(model: str, shelf: Shelf, max_tokens: Annotated[int, Within(FRAME + 1)] = 256) -> Encoding:
    """MiniLM of the catalogue, run by OpenVINO."""
    from distinguo.backends.embedding.minilm import MiniLM

    encoder = MiniLM(shelf.get(model), max_tokens=max_tokens)
    return Encoding(encoder, encoder.tokeniser, max_tokens - FRAME, encoder)


def sentence_transformers(model: str, shelf: Shelf, revision: str = "main") -> Encoding:
    """Any model that sentence-transformers loads, by name or folder. The length of passages is estimated."""
    from distinguo.backends.embedding.sentence_transformers import SentenceTransformersEncoder

    encoder = SentenceTransformersEncoder(model, revision=revision, offline=shelf.store.offline)
    return Encoding(encoder, Pieces())


def openai_encoder(  # noqa: PLR0913  these are the settings of a configuration
    url: str,
    model: str,
    dimension: Annotated[int, Within(1, 65_535)],
    key_env: str = "",
    query_prefix: str = "",
    passage_prefix: str = "",
    stall: Seconds = 60.0,
    total: Seconds = 300.0,
) -> Encoding:
    """Any OpenAI-compatible embeddings endpoint. The length of passages is estimated."""
    from distinguo.backends.embedding.openai import OpenAIEncoder

    encoder = OpenAIEncoder(
        url,
        model,
        dimension,
        _key(key_env),
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        stall=stall,
        total=total,
    )
    return Encoding(encoder, Pieces())


def edge() -> None:
    """The embedded engine: every process that searches has a copy of its own."""


def qdrant(url: str, key_env: str = "", timeout: Annotated[int, Within(1, 3600)] = 60) -> Server:
    """A Qdrant server, one collection per index; the key is in the environment variable `key_env`."""
    return Server(url, _key(key_env), timeout)


def _address(url: str) -> str:
    """`url` without user and query, where secrets stand: the identity of a model is shown and kept."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _key(variable: str) -> str | None:
    if not variable:
        return None
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", variable):  # perhaps the key: it is not repeated
        raise ConfigError(
            "key_env is not a name of letters, digits and _; expected the name of an environment variable "
            "that holds the key, never the key itself"
        )
    key = os.environ.get(variable, "")
    if not key:
        raise ConfigError(
            f"the environment variable {variable!r} (key_env) is not set; export the server's key in it"
        )
    return key
