"""What an index holds depends on what there is to read, and on nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from distinguo.backends.index.rows import hash_of
from distinguo.documents.found import Read, Unchanged
from distinguo.indexing.sorting import Known, Sorter
from distinguo.records import Document, Passage, Section
from distinguo.text.sameness import essence

IDS = "abcdef"
TEXTS = ("One.", "ONE!", "Two.", "three", "Four, four.")
WORLDS = st.dictionaries(st.sampled_from(IDS), st.sampled_from(TEXTS), max_size=len(IDS))


def document(id_: str, text: str) -> Document:
    return Document(id_, text, "T", f"/{id_}", (("n", 1),), (Section(0, "H", 2),), stamp=text)


@dataclass
class Model:
    """An index as a dictionary."""

    held: dict[str, Document] = field(default_factory=dict)

    def known(self) -> Known:
        essences: dict[bytes, str] = {}
        for id_, each in sorted(self.held.items()):
            essences.setdefault(essence(each.text), id_)
        return Known(
            {id_: hash_of(each) for id_, each in self.held.items()},
            {id_: each.stamp for id_, each in self.held.items()},
            {id_: each.source for id_, each in self.held.items()},
            {id_: mark for mark, id_ in essences.items()},
        )

    def run(self, items: Iterable[Read], lost: bool, *, batch: int = 2, until: int = 99) -> Sorter:
        """Bring the items in, in batches; a kill comes after `until` steps."""
        sorter = Sorter(self.known(), lambda each: (Passage(f"{each.id}#1", each.text),))
        group: list[Document] = []
        steps = 0

        def flush() -> bool:
            nonlocal steps
            for step in (
                lambda: self.held.update({d.id: d for d in group if d.id not in sorter.gone}),
                lambda: [self.held.pop(id_, None) for id_ in sorter.gone],
            ):
                if steps == until:
                    return False
                step()
                steps += 1
            group.clear()
            sorter.gone.clear()
            return True

        for change in sorter.changes(items, lambda unmet: set(unmet) if lost else set()):
            group.append(change.document)
            if len(group) == batch and not flush():
                return sorter
        flush()
        return sorter


def folded(world: dict[str, str]) -> dict[str, str]:
    """The first of each words."""
    first: dict[bytes, str] = {}
    for id_ in sorted(world):
        first.setdefault(essence(world[id_]), id_)
    return {id_: world[id_] for id_ in first.values()}


def read(model: Model, world: dict[str, str], order: list[str], *, stamped: bool) -> list[Read]:
    known = model.known()
    return [
        Unchanged(f"/{id_}", id_)
        if stamped and id_ in known.essences and known.stamps[id_] == world[id_]
        else document(id_, world[id_])
        for id_ in order
        if id_ in world
    ]


@given(WORLDS, WORLDS, st.permutations(IDS), st.permutations(IDS), st.booleans(), st.booleans())
def test_an_index_is_what_there_is_to_read(before, after, one, two, stamped: bool, lost: bool) -> None:
    model = Model()
    model.run(read(model, before, one, stamped=stamped), lost=True)
    assert {id_: each.text for id_, each in model.held.items()} == folded(before)
    kept = {} if lost else {i: t for i, t in folded(before).items() if i not in after}
    sorter = model.run(read(model, after, two, stamped=stamped), lost=lost)
    expected = folded({**kept, **after})
    assert {id_: each.text for id_, each in model.held.items()} == expected
    assert {each.id for each in sorter.folded} == ({*kept, *after} - expected.keys())
    assert all(expected[each.same_as] for each in sorter.folded)
    assert sorter.count("added") == len(expected.keys() - folded(before).keys())
    states = sum(map(sorter.count, ("added", "changed", "unchanged")))
    assert states == len(expected.keys() & after.keys())


@given(WORLDS, WORLDS, st.permutations(IDS), st.integers(0, 8), st.booleans())
def test_a_run_that_goes_on_after_a_kill_ends_where_an_unbroken_one_does(
    before, after, order, until: int, stamped: bool
) -> None:
    model = Model()
    model.run(read(model, before, order, stamped=stamped), lost=True)
    model.run(read(model, after, order, stamped=stamped), lost=True, until=until)
    model.run(read(model, after, order, stamped=stamped), lost=True)
    assert {id_: each.text for id_, each in model.held.items()} == folded(after)
    assert all(each == document(id_, after[id_]) for id_, each in model.held.items())
