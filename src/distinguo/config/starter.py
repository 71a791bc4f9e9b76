"""The configuration that `distinguo init` writes, and that holds where there is none."""

from __future__ import annotations

from typing import Final

STARTER: Final = """\
# Distinguo's configuration. Every setting has a default: delete what you do not change.

# Models under names of your own; "default" is used where a method names none.
[models.default]
llm = "qwen2.5-coder-1.5b-instruct"        # embedded, on the CPU; see `distinguo models list`

# Any OpenAI-compatible server (Ollama, vLLM, a hosted model). The key is read from the named variable.
# [models.house]
# llm = { url = "http://localhost:8000/v1", model = "Qwen/Qwen3-8B", key_env = "HOUSE_KEY" }

# Any other GGUF file, with `pip install 'distinguo[llamacpp]'`.
# [models.file]
# llm = { name = "llamacpp", model = "~/models/some-model.gguf" }

# Indexes by name. Another encoder or chunking asks for `distinguo index … --rebuild`.
[indexes.default]
encoder = "all-minilm-l6-v2-int8"          # or { url = "…/v1", model = "…", key_env = "…" }
chunk_tokens = 200
chunk_overlap = 40
# A Qdrant server in place of the embedded engine, with `pip install 'distinguo[qdrant]'`.
# engine = { url = "http://localhost:6333", key_env = "QDRANT_KEY" }

[method]
name = "hybrid"                            # see `distinguo methods`
llm = "default"
retriever = { name = "hybrid", index = "default" }
k = 3

[limits]
calls_in_flight = 64                       # questions in flight are the model's batch
max_calls = 0                              # model calls that one command may make; 0: no limit
"""
