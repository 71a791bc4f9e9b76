"""Distinguo: answers from your own documents, knowing what to rule out and when to keep silent.

>>> from distinguo import Distinguo
>>> with Distinguo() as house:          # doctest: +SKIP
...     house.index("handbook/")
...     house.ask("When does the ferry leave?").outcome
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distinguo.facade import Distinguo

__all__ = ["Distinguo"]


def __getattr__(name: str) -> object:
    """`Distinguo` on first use, so that importing a single room stays light."""
    if name == "Distinguo":
        from distinguo.facade import Distinguo

        return Distinguo
    raise AttributeError(f"module 'distinguo' has no attribute {name!r}")
