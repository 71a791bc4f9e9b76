"""Make components as a configuration names them, each once, and close them together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast, final

from distinguo.backends.batching import BatchedEmbedder, BatchedTokenEmbedder
from distinguo.backends.embedding.cuts import NotedCuts
from distinguo.backends.embedding.remembered import Remembered
from distinguo.backends.index.engine import Connect
from distinguo.backends.index.index import Index, erase
from distinguo.backends.index.qdrant import Server
from distinguo.backends.limits import Budget
from distinguo.backends.retry import PatientEncoder
from distinguo.backends.wrapped import wrap_embedder, wrap_llm, wrap_retriever
from distinguo.config.models import Encoding, Model, Shelf
from distinguo.config.names import TABLES, Kind
from distinguo.config.places import Places
from distinguo.config.settings import IndexSettings, Settings
from distinguo.config.signatures import Port, Spec, Table, call, described, hints_of, nearest
from distinguo.errors import ConfigError
from distinguo.indexing.build import Recipe
from distinguo.methods.baselines.retrieve import Retrieve
from distinguo.models.store import Progress, Store
from distinguo.protocols import LLM, Embedder, Finder, Method, Retriever, TokenEmbedder
from distinguo.trace import Json

if TYPE_CHECKING:
    from distinguo.backends.cache import CallCache, Replies

Made = TypeVar("Made")


class _Closes(Protocol):
    def close(self) -> None: ...


Closing = TypeVar("Closing", bound=_Closes)


@final
class Components:
    """The components of one configuration. Use it as an async context manager: leaving closes them all."""

    def __init__(
        self,
        settings: Settings,
        places: Places,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            settings: what to make.
            places: where indexes, models and the cache lie.
            max_calls: model calls that may be made, cached ones not counted; None: as the settings say.
            max_tokens: tokens after which no further call begins; None: no limit.
            progress: told of models that are fetched.
        """
        self.settings, self.places = settings, places
        self.shelf = Shelf(Store(places.models, offline=places.is_offline), progress)
        self.budget = Budget(max_calls or settings.limits.max_calls or None, max_tokens)
        self._stack = AsyncExitStack()
        self._made: dict[tuple[str, str], object] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all that was made."""
        await self._stack.aclose()

    # ── methods ──────────────────────────────────────────────────────────────────────────────────────────

    def method(self, name: str | None = None) -> Method:
        """The configured method; or the one called `name`, with the configured models.

        Raises:
            ConfigError: a name or setting is wrong.
            DataError: an index or model is not there.
        """
        return self.method_of(self.table(name))

    def table(self, name: str | None = None) -> Table:
        """What is written of the method: its name and its settings. Raises `ConfigError`.

        A method `name` that is not the written one takes its models alone: all else is as it is by default.
        """
        written = dict(self.settings.method)
        configured = written.pop("name", None)
        if not isinstance(configured, str):
            raise ConfigError(
                f"method.name: {configured!r} is not the name of a method; see `distinguo methods`"
            )
        chosen = name or configured
        if chosen != configured:
            hints = hints_of(find("method", chosen, path="method.name"))
            written = {key: value for key, value in written.items() if hints.get(key) is LLM}
        return {"name": chosen, **written}

    def method_of(self, written: Table, *, llm: Port | None = None) -> Method:
        """The method that `written` names, with its settings. Raises as `method` does.

        With ``answers = false`` it finds its evidence, and nothing is read.
        """
        name, factory, settings, answers = _method(written)
        ports: dict[object, Port] = {
            LLM: llm or self._llm,
            Retriever: self._retriever,
            Embedder: self._embedder,
        }
        method = call(factory, settings, path="method", ports=ports)
        if answers:
            return cast("Method", method)
        if not hasattr(method, "find"):
            raise ConfigError(f"method.answers: {name!r} finds no evidence; leave this setting out")
        return Retrieve(cast("Finder", method))

    def afresh(self, written: Table) -> Method:
        """As `method_of`, but its models are asked anew, and their replies kept in place of earlier ones."""
        return self.method_of(written, llm=self._llm_afresh)

    def told(self, written: Table) -> dict[str, Json]:
        """All that makes the outcomes of the method that `written` names what they are.

        Settings and defaults, the fingerprints of models, how the index was made and what is in it; no
        names or places of this user. Raises as `method` does.
        """
        name, factory, settings, answers = _method(written)
        told = described(
            factory,
            settings,
            path="method",
            ports={
                LLM: self._told_llm,
                Retriever: self._told_retriever,
                Embedder: lambda spec, path: self._embedder_encoding(spec, path).encoder.fingerprint,
            },
        )
        return {"name": name, **cast("dict[str, Json]", told), **({} if answers else {"answers": False})}

    # ── models ───────────────────────────────────────────────────────────────────────────────────────────

    def embedded(self) -> tuple[str, ...]:
        """Names of the models of the store that the configured method and its index need."""
        spec, path = self._llm_spec(self.settings.method.get("llm"), "method.llm")
        index = str(self._usual_index())
        needs = (
            _named(spec, path, default="openvino"),
            _named(self._index_settings(index).encoder, f"indexes.{index}.encoder", default="minilm"),
        )
        written = [str(table.get("model")) for _, table in needs if "url" not in table]
        return tuple(model for model in written if model in self.shelf.store.models)

    def llm(self, name: str = "default") -> LLM:
        """The language model that the configuration or the catalogue calls `name`. Raises `ConfigError`."""
        return self._llm(name, "models")

    def _llm(self, spec: object, path: str) -> LLM:
        spec, path = self._llm_spec(spec, path)
        return self._once("llm", repr(spec), lambda: self._new_llm(spec, path, self.cache()))

    def _llm_afresh(self, spec: object, path: str) -> LLM:
        from distinguo.backends.cache import Renewed

        spec, path = self._llm_spec(spec, path)
        return self._once("llm afresh", repr(spec), lambda: self._new_llm(spec, path, Renewed(self.cache())))

    def _llm_spec(self, spec: object, path: str) -> tuple[object, str]:
        """The table or catalogue name that is meant, and where it is written; user names resolved."""
        spec, ours = "default" if spec is None else spec, self.settings.models
        if not isinstance(spec, str):
            return spec, path
        if spec in ours:
            return ours[spec].llm, f"models.{spec}.llm"
        catalogue = [name for name, model in self.shelf.store.models.items() if model.kind == "llm"]
        if spec not in catalogue:
            hint = nearest(spec, {*ours, *catalogue})
            raise ConfigError(f"{path}: there is no language model {spec!r}; {hint}")
        return spec, path

    def _told_llm(self, spec: object, path: str) -> object:
        return self._model(*self._llm_spec(spec, path)).identity

    def _model(self, spec: object, path: str) -> Model:
        return self._once("model", repr(spec), lambda: self._new_model(spec, path))

    def _new_model(self, spec: object, path: str) -> Model:
        name, written = _named(spec, path, default="openvino")
        model = cast(
            "Model", call(find("llm", name, path=path), written, path=path, given={Shelf: self.shelf})
        )
        self._stack.push_async_callback(model.aclose)
        return model

    def _new_llm(self, spec: object, path: str, cache: Replies) -> LLM:
        model = self._model(spec, path)
        return wrap_llm(
            model.llm,
            model=model.identity,
            budget=self.budget,
            cache=cache,
            in_flight=self.settings.limits.calls_in_flight,
        )

    def cache(self) -> CallCache:
        """The replies that are kept."""
        from distinguo.backends.cache import CallCache

        return self._once("cache", "", lambda: self._closing(CallCache(self.places.cache)))

    # ── indexes ──────────────────────────────────────────────────────────────────────────────────────────

    def recipe(self, name: str) -> Recipe:
        """How the index `name` is made."""
        settings = self._index_settings(name)
        encoding = self._encoding(name)
        return Recipe(PatientEncoder(encoding.encoder), encoding.tokeniser, settings.chunking)

    def make_index(self, name: str) -> Index:
        """The index `name`, to change it; a new one where there is none.

        Close it as soon as it is changed: nobody else can change it until then.
        """
        folder, fingerprint = self.places.indexes / name, self.recipe(name).fingerprint
        return self._closing(Index.make(folder, fingerprint, server=self._connect(name)))

    def open_index(self, name: str) -> Index:
        """The index `name`, to search it."""
        folder, encoder = self.places.indexes / name, self._encoding(name).encoder.fingerprint
        return self._closing(Index.open(folder, encoder=encoder, server=self._connect(name)))

    def erase_index(self, name: str) -> None:
        """Remove the index `name`, if there is one, and what a server has of it."""
        server = self._server(name)
        erase(self.places.indexes / name, partial(server.erase, name) if server else None)

    def _connect(self, name: str) -> Connect | None:
        server = self._server(name)
        return partial(server.open, name) if server else None

    def _server(self, name: str) -> Server | None:
        spec, path = self._index_settings(name).engine, f"indexes.{name}.engine"
        entry, written = _named(
            {"name": "qdrant", **spec} if isinstance(spec, dict) else spec, path, default=None
        )
        return cast("Server | None", call(find("engine", entry, path=path), written, path=path))

    def _retriever(self, spec: object, path: str) -> Retriever:
        name, written, index_name = self._retriever_spec(spec, path)
        factory = find("retriever", name, path=f"{path}.name")
        embedder = self._embedder(self._index_settings(index_name).encoder, f"indexes.{index_name}.encoder")
        index = self._index(index_name)
        given: dict[object, object] = {Index: index, Embedder: embedder}
        if TokenEmbedder in hints_of(factory).values():
            given[TokenEmbedder] = self._once(
                "tokens", self._encoder_key(index_name), lambda: self._new_token_embedder(index_name)
            )
        retriever = call(factory, written, path=path, given=given)
        return wrap_retriever(cast("Retriever", retriever), name=name)

    def _told_retriever(self, spec: object, path: str) -> object:
        name, written, index_name = self._retriever_spec(spec, path)
        factory = find("retriever", name, path=f"{path}.name")
        told = described(factory, written, path=path, given={Index, Embedder, TokenEmbedder})
        index = self._index(index_name)
        return {"name": name, **told, "index": {**asdict(index.fingerprint), "corpus": index.corpus()}}

    def _retriever_spec(self, spec: object, path: str) -> tuple[str, Table, str]:
        """The entry of the table, its settings, and the index."""
        name, written = _named("hybrid" if spec is None else spec, path, default=None)
        index = written.pop("index", None) or self._usual_index()
        if not isinstance(index, str):
            raise ConfigError(f"{path}.index: {index!r} is not the name of an index")
        return name, written, index

    def _usual_index(self) -> object:
        """The index of the configured method, for a method that is chosen by name."""
        retriever = self.settings.method.get("retriever")
        return cast("Table", retriever).get("index", "default") if isinstance(retriever, dict) else "default"

    def _index(self, name: str) -> Index:
        return self._once("index", name, lambda: self.open_index(name))

    def _embedder(self, spec: object, path: str) -> Embedder:
        """What embeds texts: the encoder that `spec` names, or that of the usual index."""
        encoding = self._embedder_encoding(spec, path)
        return self._once("embedder", encoding.encoder.fingerprint, lambda: self._new_embedder(encoding))

    def _embedder_encoding(self, spec: object, path: str) -> Encoding:
        if spec is None:
            return self._encoding(str(self._usual_index()))
        return self._once("encoder", repr(spec), lambda: self._new_encoding(cast("Spec", spec), path))

    def _new_embedder(self, encoding: Encoding) -> Embedder:
        batched = BatchedEmbedder.of(encoding.encoder)
        self._stack.push_async_callback(batched.aclose)
        embedder = NotedCuts(batched, encoding.tokeniser, encoding.limit) if encoding.limit else batched
        return Remembered(wrap_embedder(embedder, name="embed"))

    def _new_token_embedder(self, name: str) -> TokenEmbedder:
        encoder = self._encoding(name).tokens
        if encoder is None:
            raise ConfigError(
                f"indexes.{name}.encoder: it gives no vectors of tokens, which late interaction needs; "
                "take another retriever, or an embedded encoder"
            )
        batched = BatchedTokenEmbedder.of(encoder)
        self._stack.push_async_callback(batched.aclose)
        return batched

    def _encoding(self, index: str) -> Encoding:
        spec, path = self._index_settings(index).encoder, f"indexes.{index}.encoder"
        return self._once("encoder", repr(spec), lambda: self._new_encoding(spec, path))

    def _encoder_key(self, index: str) -> str:
        return repr(self._index_settings(index).encoder)

    def _new_encoding(self, spec: Spec, path: str) -> Encoding:
        name, written = _named(spec, path, default="minilm")
        factory = find("encoder", name, path=path)
        return cast("Encoding", call(factory, written, path=path, given={Shelf: self.shelf}))

    def _index_settings(self, name: str) -> IndexSettings:
        if name not in self.settings.indexes:
            hint = nearest(name, self.settings.indexes)
            raise ConfigError(f"there is no index {name!r} in the configuration; {hint}")
        return self.settings.indexes[name]

    # ── making once, closing together ────────────────────────────────────────────────────────────────────

    def _once(self, kind: str, name: str, make: Callable[[], Made]) -> Made:
        if (kind, name) not in self._made:
            self._made[kind, name] = make()
        return cast("Made", self._made[kind, name])

    def _closing(self, thing: Closing) -> Closing:
        self._stack.callback(thing.close)
        return thing


def find(kind: Kind, name: str, *, path: str) -> Callable[..., object]:
    """The factory that `name` stands for. Raises `ConfigError` with the nearest name."""
    table = TABLES[kind]
    if name not in table:
        raise ConfigError(f"{path}: there is no {kind} {name!r}; {nearest(name, table)}")
    module, _, target = table[name].partition(":")
    return cast("Callable[..., object]", getattr(import_module(module), target))


def _method(written: Table) -> tuple[str, Callable[..., object], Table, bool]:
    """The method that is written: its name, factory and settings, and whether it answers.

    A model that is not named is the one that answers.
    """
    name, settings = _named(written, "method", default=None)
    factory = find("method", name, path="method.name")
    answers = settings.pop("answers", True)
    if not isinstance(answers, bool):
        raise ConfigError(f"method.answers: {answers!r} is not true or false")
    if "llm" in settings:
        others = {part: settings["llm"] for part, hint in hints_of(factory).items() if hint is LLM}
        settings = {**others, **settings}
    return name, factory, settings, answers


def _named(spec: object, path: str, *, default: str | None) -> tuple[str, Table]:
    """The entry of a table that `spec` picks, and its settings.

    Text is a model's name for the entry `default`, or, where there is no default, the entry itself. A table
    has the entry as ``name``; with a ``url`` it may leave that out.
    """
    if isinstance(spec, str):
        return (spec, {}) if default is None else (default, {"model": spec})
    if not isinstance(spec, dict):
        raise ConfigError(f"{path}: {spec!r} is not the name or table of a component")
    written = dict(cast("Table", spec))
    name = written.pop("name", "openai" if "url" in written else default)
    if not isinstance(name, str):
        raise ConfigError(f"{path}.name: missing; expected the name of a component")
    return name, written
