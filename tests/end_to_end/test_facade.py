"""The synchronous façade, on a double server."""

import asyncio
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from distinguo import Distinguo
from distinguo.errors import ConfigError, DataError
from distinguo.records import Answer
from doubles.house import house


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with house(tmp_path):
        yield tmp_path


def opened(folder: Path) -> Distinguo:
    return Distinguo(folder / "distinguo.toml", home=folder / "home")


def test_index_then_ask_in_one_object(folder: Path) -> None:
    with opened(folder) as d:
        assert d.index(folder / "corpus").added == 2
        result = d.ask("When does the north gate open?")
        assert result.state == "answered"
        assert isinstance(result.outcome, Answer)
        assert result.outcome.citations == ("gates.md#1",)
        assert (folder / "home" / "traces" / f"{result.trace}.json").exists()
        (folder / "corpus" / "new.txt").write_text("The lighthouse is white.", encoding="utf-8")
        assert d.index(folder / "corpus").added == 1
        new = d.ask("What colour is the lighthouse?", method="bm25").outcome
        assert isinstance(new, Answer)
        assert new.citations == ("new.txt#1",)


async def test_it_works_inside_a_running_loop(folder: Path) -> None:
    assert asyncio.get_running_loop()
    with opened(folder) as d:
        d.index(folder / "corpus")
        assert d.ask("When does the ferry leave?").state == "answered"


def test_many_questions_come_back_in_order_and_from_many_threads(folder: Path) -> None:
    with opened(folder) as d:
        d.index(folder / "corpus")
        asked = [f"When does gate {number} open?" for number in range(12)]
        assert [result.question.text for result in d.ask_all(asked)] == asked
        states: list[str] = []
        threads = [
            threading.Thread(target=lambda text=text: states.append(d.ask(text).state)) for text in asked
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert states == ["answered"] * 12


def test_errors_arrive_where_the_call_was_made(folder: Path) -> None:
    with opened(folder) as d:
        with pytest.raises(DataError, match="there is no index"):
            d.ask("When does the ferry leave?")
        with pytest.raises(DataError, match="empty"):
            d.ask("  ")
        with pytest.raises(ConfigError, match="did you mean 'hybrid'"):
            d.ask("When?", method="hybird")


def test_closing_amid_questions_ends_every_call(folder: Path) -> None:
    d = opened(folder)
    d.index(folder / "corpus")
    ends: list[str] = []

    def ask(number: int) -> None:
        try:
            ends.append(d.ask(f"When does gate {number} open?").state)
        except DataError as error:
            ends.append(str(error))

    askers = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    closers = [threading.Thread(target=d.close) for _ in range(4)]
    for thread in (*askers, *closers):
        thread.start()
    for thread in (*askers, *closers):
        thread.join(20)
        assert not thread.is_alive()
    assert len(ends) == 20
    assert all(end == "answered" or "closed" in end for end in ends)


def test_a_forked_process_is_told_to_make_its_own(folder: Path) -> None:
    d = opened(folder)
    d.index(folder / "corpus")
    with warnings.catch_warnings(action="ignore"):  # forking beside threads is what is tested
        child = os.fork()
    if child == 0:
        try:
            d.ask("When does the ferry leave?")
        except DataError:
            d.close()
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert d.ask("When does the ferry leave?").state == "answered"
    d.close()


def test_a_closed_one_says_so_and_leaves_no_thread(folder: Path) -> None:
    before = threading.active_count()
    d = opened(folder)
    d.index(folder / "corpus")
    d.close()
    d.close()
    assert threading.active_count() == before
    with pytest.raises(DataError, match="closed"):
        d.ask("When does the ferry leave?")
