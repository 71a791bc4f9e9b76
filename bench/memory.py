"""A process that opens an index, ours or the bare engine's, searches it, and tells its peak memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from bench.bare import DEPTH, BareEngine
from bench.measures import peak

TIMES = 20


def main(kind: str, folder: str, encoder: str, dimension: str) -> None:
    """Search `TIMES` times with other vectors, both ways; `kind` is ours or bare."""
    before = peak()
    vectors = np.random.default_rng(0).standard_normal((TIMES, int(dimension)), dtype=np.float32)
    if kind == "bare":
        engine = BareEngine.load(Path(folder))
        for vector in vectors:
            engine.hybrid("who was first", vector, 10)
        engine.close()
    else:
        from distinguo.backends.index.index import Index

        with Index.open(Path(folder), encoder=encoder) as index:
            for vector in vectors:
                index.hybrid([("who was first", 1.0)], vector, 10, depth=DEPTH)
    sys.stdout.write(json.dumps({"before": before, "peak": peak()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
