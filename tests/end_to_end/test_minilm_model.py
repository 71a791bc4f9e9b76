"""The real MiniLM: near to the full model, in many threads, silent, and small."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from distinguo.backends.embedding.minilm import MiniLM
from doubles.stored import stored

pytestmark = pytest.mark.embedded

TEXTS = (
    "How long may an opened vial be kept?",
    "An opened vial keeps for 28 days in the refrigerator.",
    "Vials are made of glass in the town of Lauscha.",
    "The council raised the parking fee.",
    "",
)
# Cosines of the full float32 weights of the same model, computed with numpy.
COSINES = (
    (1.0000, 0.8486, 0.3986, -0.0783, -0.0192),
    (0.8486, 1.0000, 0.3317, -0.0793, 0.0152),
    (0.3986, 0.3317, 1.0000, -0.0619, 0.0103),
    (-0.0783, -0.0793, -0.0619, 1.0000, 0.1230),
    (-0.0192, 0.0152, 0.0103, 0.1230, 1.0000),
)


@pytest.fixture(scope="module")
def folder() -> Path:
    return stored("all-minilm-l6-v2-int8")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> MiniLM:
    return MiniLM(folder)


def test_similarities_are_those_of_the_full_model(encoder: MiniLM) -> None:
    vectors = np.stack(encoder.encode(TEXTS, "passage"))
    assert np.allclose(vectors @ vectors.T, COSINES, atol=0.02)


def test_sixteen_threads_encode_and_count_tokens_at_once(encoder: MiniLM) -> None:
    texts = [f"Clause {number}: the deposit is {number} crowns. " * (1 + number % 5) for number in range(64)]
    expected = encoder.encode(texts, "passage")

    def work(number: int) -> np.ndarray:
        text = texts[number]
        assert len(encoder.tokeniser.spans(text)) > 5
        return encoder.encode([text], "query")[0]

    with ThreadPoolExecutor(16) as threads:
        vectors = list(threads.map(work, range(len(texts))))
    assert np.allclose(vectors, expected, atol=1e-3)


def test_what_follows_the_limit_does_not_count(encoder: MiniLM) -> None:
    text = "The vial is kept cold. " * 60
    assert len(encoder.tokeniser.spans(text)) > 256
    first, second = encoder.encode([text + "Cats sleep.", text + "Dogs bark at night."], "passage")
    assert np.allclose(first, second, atol=1e-6)


ALONE = """
import socket, sys
def refuse(*_, **__):
    raise SystemExit("a socket was opened")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from pathlib import Path
from random import Random
from distinguo.backends.embedding.minilm import MiniLM
encoder = MiniLM(Path(sys.argv[1]))
for number in range(40):
    encoder.encode(["word " * Random(number + k).randrange(250) for k in range(12)], "passage")
assert not any(name.startswith("openvino_telemetry.") for name in sys.modules)
peak = next(line for line in open("/proc/self/status", encoding="utf-8") if line.startswith("VmHWM"))
print(peak.split()[1])  # not ru_maxrss, which remembers the process that started this one
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="the peak of memory is read from /proc")
def test_it_reports_to_nobody_and_stays_small(folder: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ALONE, str(folder)], capture_output=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    kilobytes = int(result.stdout)
    assert kilobytes < 500_000
