"""A text's vector is computed once, and the trace says when it was known."""

from typing import TYPE_CHECKING

from distinguo.backends.embedding.remembered import Remembered
from distinguo.records import Role
from distinguo.testing import HashEncoder
from distinguo.trace import Trace, tracing

if TYPE_CHECKING:
    from distinguo.protocols import Vector


class Counting:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Role]] = []

    async def embed(self, text: str, role: Role) -> "Vector":
        self.asked.append((text, role))
        return HashEncoder().encode([text], role)[0]


async def test_a_text_is_embedded_once_for_each_role() -> None:
    counting = Counting()
    embedder = Remembered(counting)
    vectors = [await embedder.embed(*asked) for asked in (("a", "query"), ("a", "query"), ("a", "passage"))]
    assert counting.asked == [("a", "query"), ("a", "passage")]
    assert (vectors[0] == vectors[1]).all()


async def test_a_known_vector_is_told_in_the_trace() -> None:
    embedder, trace = Remembered(Counting()), Trace("t", "")
    await embedder.embed("a", "query")
    with tracing(trace):
        await embedder.embed("a", "query")
    assert [event.fields for event in trace.events] == [
        {"port": "embedder", "text": "a", "role": "query", "is_cached": True}
    ]


async def test_the_oldest_is_forgotten() -> None:
    counting = Counting()
    embedder = Remembered(counting, size=2)
    for text in ("a", "b", "c", "c", "b", "a"):
        await embedder.embed(text, "query")
    assert [text for text, _ in counting.asked] == ["a", "b", "c", "a"]
