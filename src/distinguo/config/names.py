"""Every component that a configuration can name, as ``name -> "module:object"``.

The object is a dataclass or a function; its signature is the schema of its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal["method", "retriever", "llm", "encoder", "engine"]

METHODS: Final = {
    "racot": "distinguo.methods.racot:Racot",
    "chr": "distinguo.methods.chr:Chr",
    "hyde": "distinguo.methods.baselines.hyde:Hyde",
    "query2doc": "distinguo.methods.baselines.query2doc:query2doc",
    "query2doc_dense": "distinguo.methods.baselines.query2doc:query2doc_dense",
    "csqe": "distinguo.methods.baselines.csqe:Csqe",
    "keqe": "distinguo.methods.baselines.csqe:keqe",
    "thinkqe": "distinguo.methods.baselines.thinkqe:Thinkqe",
    "rewrite": "distinguo.methods.baselines.rewrite:Rewrite",
    "multi_query": "distinguo.methods.baselines.multi_query:MultiQuery",
    "rankrag": "distinguo.methods.baselines.rankrag:Rankrag",
    "closed_book": "distinguo.methods.baselines.closed_book:ClosedBook",
    "retrieve": "distinguo.methods.baselines.retrieve:retrieve",
    "bm25": "distinguo.methods.baselines.vanilla:bm25",
    "dense": "distinguo.methods.baselines.vanilla:dense",
    "hybrid": "distinguo.methods.baselines.vanilla:hybrid",
}

RETRIEVERS: Final = {
    "lexical": "distinguo.backends.index.retrievers:Lexical",
    "dense": "distinguo.backends.index.retrievers:Dense",
    "hybrid": "distinguo.backends.index.retrievers:Hybrid",
    "late": "distinguo.backends.index.late:Late",
}

LLMS: Final = {
    "openvino": "distinguo.config.models:openvino",
    "llamacpp": "distinguo.config.models:llamacpp",
    "openai": "distinguo.config.models:openai",
}

ENCODERS: Final = {
    "minilm": "distinguo.config.models:minilm",
    "openai": "distinguo.config.models:openai_encoder",
    "sentence-transformers": "distinguo.config.models:sentence_transformers",
}

ENGINES: Final = {
    "edge": "distinguo.config.models:edge",
    "qdrant": "distinguo.config.models:qdrant",
}

TABLES: Final[Mapping[Kind, Mapping[str, str]]] = {
    "method": METHODS,
    "retriever": RETRIEVERS,
    "llm": LLMS,
    "encoder": ENCODERS,
    "engine": ENGINES,
}
