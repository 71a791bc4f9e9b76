"""``distinguo run``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, final, get_args

from distinguo.cli.console import complain, err, out, print_json, styled
from distinguo.cli.live import counts, live
from distinguo.cli.setting_up import components, places
from distinguo.config.build import Components
from distinguo.config.fingerprint import fingerprint, segment
from distinguo.config.signatures import Table
from distinguo.datasets.folder import Folder, find_folder
from distinguo.datasets.questions import read_questions
from distinguo.errors import ConfigError, DataError
from distinguo.records import Question, Result, State
from distinguo.results.file import ResultFile
from distinguo.running.run import ENDED_BADLY, Habits, Tally, run
from distinguo.running.shards import WHOLE, Shard
from distinguo.running.traces import save
from distinguo.trace import Json, Trace

AGAIN: Final = "the same command goes on where it stopped"


@final
@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of ``distinguo run`` that say which questions, and how."""

    at_once: int
    limit: int | None = None
    shard: Shard = WHOLE
    retry_failed: bool = False
    with_texts: bool = True
    with_traces: bool = True


def run_questions(
    questions: str,
    *,
    results: Path,
    method: str | None,
    config: Path | None,
    wishes: Wishes,
    max_calls: int | None,
    max_tokens: int | None,
    as_json: bool,
) -> bool:
    """Put the questions to a method into the file `results`; whether all of them have ended."""
    file = questions_file(questions)
    asked = [example.question for example in read_questions(file)]
    asked = list(islice((one for one in asked if one.id in wishes.shard), wishes.limit))
    began = time.monotonic()
    with components(config, max_calls=max_calls, max_tokens=max_tokens) as (made, runner):
        written = made.table(method)
        made.method_of(written)  # what is wrong with it is told before the file is touched
        header = fingerprint(made.told(written), file)
        shard = f"{wishes.shard.number}/{wishes.shard.count}"
        piece = segment(file, at_once=wishes.at_once, shard=shard, limit=wishes.limit)
        with ResultFile.open(results, header) as kept:
            try:
                tally = bring_to_end(made, runner, written, asked, kept, segment=piece, wishes=wishes)
            except KeyboardInterrupt:
                done = sum(one.id in kept.rows for one in asked)
                err().print(f"interrupted; {done:,} of {len(asked):,} questions are done: {AGAIN}")
                raise
    _sum_up(tally, results, time.monotonic() - began, as_json=as_json)
    return not tally.left


def bring_to_end(
    made: Components,
    runner: asyncio.Runner,
    written: Table,
    asked: Sequence[Question],
    kept: ResultFile,
    *,
    segment: Mapping[str, Json],
    wishes: Wishes,
) -> Tally:
    """Put those of `asked` that are not yet in `kept` to the method `written`, and show how far it is."""
    on_trace = keeper(made.places.traces) if wishes.with_traces else None
    with live(kept.path.stem) as show:
        return runner.run(
            run(
                made.method_of(written),
                asked,
                kept,
                segment=segment,
                afresh=made.afresh(written) if wishes.retry_failed else None,
                habits=Habits(wishes.at_once, wishes.with_texts, on_trace, show),
            )
        )


def questions_file(name: str) -> Path:
    """The file `name`, or the questions of the set `name`. Raises `ConfigError`."""
    return path if (path := Path(name)).is_file() else set_folder(name).questions


def set_folder(name: str) -> Folder:
    """The set at the path `name`, or of that name among this user's. Raises `ConfigError`."""
    data = places().data
    try:
        return find_folder(name, data)
    except ConfigError as error:
        hint = "" if data else "; sets are found by their names where DISTINGUO_DATA says where they are"
        raise ConfigError(f"{error}{hint}") from error


def keeper(folder: Path) -> Callable[[Result, Trace], None]:
    """Saves traces in `folder`; where that fails, it is told once and the run goes on."""
    is_told = False

    def keep(result: Result, trace: Trace) -> None:
        nonlocal is_told
        try:
            save(folder, result, trace)
        except DataError as error:
            if not is_told:
                complain(str(error))
            is_told = True

    return keep


def as_json_of(tally: Tally) -> dict[str, Json]:
    """The four counts, and what this piece of the run has cost."""
    states: dict[str, Json] = {state: tally.states[state] for state in get_args(State)}
    return {
        "questions": tally.total,
        **states,
        "left": tally.left,
        "calls": tally.calls,
        "cached_calls": tally.cached_calls,
        "tokens": tally.tokens,
    }


def cost(tally: Tally, seconds: float) -> str:
    """What this piece of a run has cost."""
    return (
        f"{tally.calls:,} calls, {tally.cached_calls:,} more from what was kept, "
        f"{tally.tokens:,} tokens, {seconds:,.1f} s"
    )


def _sum_up(tally: Tally, results: Path, seconds: float, *, as_json: bool) -> None:
    if tally.is_out_of_budget:
        spent = "the limit that was set is used up"
        err().print(f"{spent}; {tally.left:,} of {tally.total:,} questions are left: {AGAIN}")
    elif badly := sum(tally.states[state] for state in ENDED_BADLY):
        err().print(f"{badly:,} questions failed or could not be read: --retry-failed asks them again")
    if as_json:
        print_json({"results": str(results), **as_json_of(tally), "seconds": round(seconds, 3)})
    else:
        said = f"{results}: {tally.total:,} questions: {counts(tally)}; {cost(tally, seconds)}"
        out().print(styled(said))
