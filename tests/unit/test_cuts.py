"""What an encoder cuts off is said in the trace."""

from distinguo.backends.batching import BatchedEmbedder
from distinguo.backends.embedding.cuts import NotedCuts
from distinguo.testing import HashEncoder, WordTokeniser
from distinguo.trace import Trace, tracing


async def test_only_a_text_over_the_limit_is_noted() -> None:
    batched = BatchedEmbedder.of(HashEncoder())
    embedder, trace = NotedCuts(batched, WordTokeniser(), limit=3), Trace("t", "")
    with tracing(trace):
        short = await embedder.embed("one two three", "query")
        await embedder.embed("one two three four", "query")
    await batched.aclose()
    assert [event.fields for event in trace.events] == [{"tokens": 4, "kept": 3}]
    assert short.shape == (HashEncoder().dimension,)
