"""A run against its gold: outcomes, denominators, what is missing, what is compared."""

import re
from dataclasses import replace

import pytest

from distinguo.datasets.questions import UNJUDGED
from distinguo.errors import DataError
from distinguo.records import Example, Question
from distinguo.results.file import Results
from distinguo.results.rows import Row, Weighed
from distinguo.scoring.judging import Gold, Run, Verdict, against, check_questions, gather, judge, some
from distinguo.scoring.outcomes import ENDINGS
from distinguo.scoring.page import Report, page, remarks, tables
from distinguo.scoring.retrieval import gold_grades
from distinguo.scoring.significance import Comparison
from distinguo.scoring.value import Undefined
from distinguo.trace import Json


def asked(id_: str, *gold: str, documents: tuple[str, ...] = (), tags: tuple[str, ...] = ()) -> Example:
    return Example(Question(id_, f"secret question {id_}?"), gold, documents, tags)


def answered(id_: str, text: str, *documents: str, **more) -> Row:
    evidence = tuple(Weighed(f"{name}#0", name, 0.5, "similarity") for name in documents)
    return Row(id_, "answered", answer=text, evidence=evidence, **more)


def run(*rows: Row, name: str = "run", header: dict | None = None) -> Run:
    return Run(name, header or {}, (), {row.id: row for row in rows})


def judged(run: Run, *examples: Example, metrics: tuple[str, ...] = ("EM",)) -> Verdict:
    return judge(run, Gold(examples, gold_grades(examples)), metrics=metrics, right_by="contains_words")


def counted(verdict: Verdict, slice_: str = "all") -> dict[str, int]:
    (one,) = [one for one in verdict.outcomes if one.slice == slice_]
    return {ending: count for ending, count in one.counts.items() if count}


ONE_OF_EACH = (
    asked("right", "Ann"),
    asked("wrong", "Ann"),
    asked("silent", "Ann"),
    asked("unread", "Ann"),
    asked("failed", "Ann"),
    asked("gone", "Ann"),
    asked("rightly silent"),
    asked("invented"),
    asked("unknown", tags=(UNJUDGED,)),
)
ROWS = (
    answered("right", "It was Ann."),
    answered("wrong", "Bob"),
    Row("silent", "abstained"),
    Row("unread", "unreadable", raw="?"),
    Row("failed", "failed"),
    Row("rightly silent", "abstained"),
    answered("invented", "Bob"),
    answered("unknown", "Bob"),
)


def test_every_question_is_counted_once_by_how_it_ended() -> None:
    verdict = judged(run(*ROWS), *ONE_OF_EACH)
    assert counted(verdict) == {
        "answered_right": 1,
        "answered_wrong": 2,
        "abstained_right": 1,
        "abstained_wrong": 1,
        "unreadable": 1,
        "failed": 1,
        "missing": 1,
        "answered_unjudged": 1,
    }
    assert counted(verdict, "unanswerable") == {"abstained_right": 1, "answered_wrong": 1}
    whole = verdict.outcomes[0]
    assert (whole.n, whole.judged, whole.right) == (9, 8, 2)
    assert whole.states == {"answered": 4, "abstained": 2, "unreadable": 1, "failed": 1}
    assert list(whole.counts) == list(ENDINGS)


def test_what_was_not_answered_counts_as_zero_and_the_mean_of_the_answered_stands_beside_it() -> None:
    figure = judged(run(*ROWS), *ONE_OF_EACH, metrics=("contains_words",)).figures[0]
    assert (figure.mean.value, figure.mean.n) == (pytest.approx(1 / 6), 6)
    assert (figure.mean.undefined, figure.mean.reasons) == (1, ("no gold answer is known",))
    assert figure.answered is not None
    assert (figure.answered.value, figure.answered.n) == (0.5, 2)
    assert (figure.unharmed.value, figure.unharmed.n) == (0.25, 4)


def test_a_run_is_partial_when_questions_failed_or_have_no_row() -> None:
    verdict = judged(run(*ROWS), *ONE_OF_EACH)
    assert verdict.is_partial
    assert verdict.missing == ("gone",)
    assert judged(run(Row("q", "failed")), asked("q", "a")).is_partial
    assert judged(run(), asked("q", "a")).is_partial
    assert not judged(run(Row("q", "unreadable")), asked("q", "a")).is_partial


def test_every_third_question_that_failed_is_in_the_mean_and_the_mean_without_them_is_told() -> None:
    rows = [Row(f"q{n}", "failed") if n % 3 == 2 else answered(f"q{n}", "Ann") for n in range(9)]
    figure = judged(run(*rows), *(asked(f"q{n}", "Ann") for n in range(9))).figures[0]
    assert figure.mean.value == pytest.approx(6 / 9)
    assert (figure.unharmed.value, figure.unharmed.n) == (1.0, 6)


def test_answers_to_questions_without_an_answer_are_in_no_mean() -> None:
    figure = judged(run(answered("q", "Ann"), answered("r", "Bob")), asked("q", "Ann"), asked("r")).figures[0]
    assert (figure.mean.value, figure.mean.n, figure.mean.undefined) == (1.0, 1, 0)


def test_a_gold_that_cannot_be_compared_is_unjudged_whatever_the_run_did() -> None:
    for row in (answered("q", "?"), Row("q", "abstained"), Row("q", "failed")):
        verdict = judged(run(row), asked("q", "?"))
        assert isinstance(verdict.figures[0].mean.value, Undefined)
    assert counted(judged(run(answered("q", "?")), asked("q", "?"))) == {"answered_unjudged": 1}
    assert counted(judged(run(Row("q", "abstained")), asked("q", "?"))) == {"abstained_unjudged": 1}


def test_slices_are_those_that_part_the_questions() -> None:
    examples = asked("a", "x", tags=("kind=plain", "all=same")), asked("b", tags=("kind=odd", "all=same"))
    verdict = judged(run(answered("a", "x"), Row("b", "abstained")), *examples)
    assert [one.slice for one in verdict.outcomes] == [
        "all",
        "answerable",
        "unanswerable",
        "kind=plain",
        "kind=odd",
    ]


def test_what_is_measured_follows_from_what_the_rows_have() -> None:
    example = asked("q", "Ann", documents=("d",))
    both = judged(run(answered("q", "Ann", "d")), example, metrics=())
    assert {"EM", "F1", "recall@1"} <= {figure.name for figure in both.figures}
    assert both.figure("recall@5") is None
    assert any("no ranking has more than 1 documents: recall@5, recall@10" in note for note in both.notes)
    search = judged(run(answered("q", "", *"dabcefghij")), example, metrics=())
    assert search.figure("EM") is None
    assert search.figure("nDCG@10") is not None
    assert any("metrics of answers are left out" in note for note in search.notes)
    closed = judged(run(answered("q", "Ann")), example, metrics=())
    assert closed.figure("recall@5") is None
    assert any("metrics of retrieval are left out" in note for note in closed.notes)


def test_what_is_asked_for_is_measured_even_so() -> None:
    verdict = judged(run(answered("q", "Ann")), asked("q", "Ann", documents=("d",)), metrics=("recall@5",))
    assert verdict.figures[0].mean.value == 0


def test_a_search_alone_is_not_judged_by_its_empty_answers() -> None:
    examples = asked("q", "Ann", documents=("d",)), asked("r"), asked("s", "Ann")
    rows = answered("q", "", "d"), answered("r", "", "d"), Row("s", "failed")
    assert counted(judged(run(*rows), *examples, metrics=())) == {"answered_unjudged": 2, "failed": 1}


def test_a_method_that_keeps_silent_on_everything_is_no_search() -> None:
    verdict = judged(run(Row("q", "abstained"), Row("r", "abstained")), asked("q", "Ann"), asked("r"))
    assert counted(verdict) == {"abstained_wrong": 1, "abstained_right": 1}
    assert verdict.figures[0].mean.value == 0


def test_a_ranking_shorter_than_asked_for_is_remarked_on() -> None:
    verdict = judged(
        run(answered("q", "Ann", "d")), asked("q", "Ann", documents=("d",)), metrics=("recall@1", "recall@5")
    )
    assert verdict.notes == ("no ranking has more than 1 documents; recall@5 looked for more",)


def test_rankings_of_other_depths_are_measured_to_one_depth_alone() -> None:
    def measured(*documents: str) -> set[str]:
        verdict = judged(run(answered("q", "A", *documents)), asked("q", "A", documents=("d",)), metrics=())
        return {figure.name for figure in verdict.figures if "@" in figure.name or "MRR" in figure.name}

    assert measured("d") == {"recall@1"}
    assert measured(*"abcdefghij") == {"recall@1", "recall@5", "recall@10", "success@5", "nDCG@10", "MRR@10"}


def test_what_an_unreadable_reply_stood_on_is_not_known_and_that_is_told() -> None:
    rows = (answered("q", "Ann", "d"), Row("r", "unreadable", raw="?"))
    examples = (asked("q", "Ann", documents=("d",)), asked("r", "Ann", documents=("d",)))
    verdict = judged(run(*rows), *examples, metrics=("recall@1",))
    assert verdict.figures[0].mean.value == 0.5
    assert verdict.notes == ("1 unreadable questions list no evidence: metrics of retrieval count them as 0",)
    assert judged(run(*rows), *examples, metrics=("EM",)).notes == ()


def test_runs_with_no_metric_in_common_are_not_compared() -> None:
    (one, other) = (judged(run(answered("q", "Ann"), name=name), asked("q", "Ann")) for name in "ab")
    report = Report("T", "EM", ignore_self=False, verdicts=(one,), baseline=one)
    assert "## Against" not in tables(report)
    assert "## Against a" in tables(replace(report, verdicts=(one, other)))


def test_evidence_is_a_ranking_of_abstentions_too() -> None:
    evidence = answered("q", "", "x", "d").evidence
    verdict = judged(
        run(Row("q", "abstained", evidence=evidence)), asked("q", "A", documents=("d",)), metrics=("MRR",)
    )
    assert verdict.figures[0].mean.value == 0.5


def test_seconds_are_of_questions_that_took_nothing_from_the_cache() -> None:
    rows = (
        answered("a", "x", seconds=2.0, calls=1, prompt_tokens=10, completion_tokens=3),
        answered("b", "x", seconds=9.0, cached_calls=2, cached_tokens=12),
        Row("c", "failed", seconds=99.0),
    )
    cost = judged(run(*rows), *(asked(id_, "x") for id_ in "abc")).cost
    assert (cost.seconds.value, cost.seconds.n) == (2.0, 1)
    assert (cost.calls, cost.cached_calls) == (1, 2)
    assert (cost.prompt_tokens, cost.completion_tokens, cost.cached_tokens) == (10, 3, 12)


@pytest.mark.parametrize(
    ("segments", "pace"),
    [
        (({"seconds": 3.0, "timed": 2}, {"seconds": 1, "timed": 2}), 1.0),
        (({"seconds": 3.0, "timed": 2}, {"started": "2026-01-01"}), 1.5),
        (
            ({"seconds": 3.0, "timed": 0},),
            Undefined("no piece of the run with such questions came to its end"),
        ),
        ((), Undefined("no piece of the run with such questions came to its end")),
    ],
)
def test_the_pace_of_a_run_is_its_time_by_the_questions_that_took_it(
    segments: tuple[dict, ...], pace: float | Undefined
) -> None:
    whole = replace(run(answered("a", "x")), segments=segments)
    assert judged(whole, asked("a", "x")).cost.pace == pace


def test_a_search_whose_vector_was_known_tells_no_latency() -> None:
    rows = (answered("a", "", seconds=2.0), answered("b", "", seconds=0.1, cached_vectors=1))
    cost = judged(run(*rows), asked("a", "x"), asked("b", "x")).cost
    assert (cost.seconds.value, cost.seconds.n) == (2.0, 1)


def test_two_runs_are_compared_on_the_questions_that_both_have() -> None:
    examples = [asked(id_, "x") for id_ in "abcd"]
    first = judged(run(answered("a", "x"), answered("b", "no"), answered("d", "x")), *examples)
    second = judged(run(answered("a", "x"), answered("b", "x"), answered("c", "x")), *examples)
    found = against(first, second, "EM")
    assert isinstance(found, Comparison)
    assert (found.n, found.only_first, found.only_second) == (2, 1, 1)
    assert found.difference == 0.5
    assert isinstance(against(first, second, "F1"), Undefined)


def test_a_question_that_failed_is_no_loss() -> None:
    examples = [asked(id_, "x") for id_ in "abc"]
    first = judged(run(*(answered(id_, "x") for id_ in "abc")), *examples)
    second = judged(run(answered("a", "x"), Row("b", "failed"), Row("c", "failed")), *examples)
    found = against(first, second, "EM")
    assert isinstance(found, Comparison)
    assert (found.n, found.difference, found.worse, found.only_first) == (1, 0, 0, 2)


def test_a_run_on_other_questions_is_told_which() -> None:
    strange = run(*(answered(f"z{n}", "x") for n in range(7)), answered("a", "x"))
    with pytest.raises(DataError, match=r"7 of 8 questions that the gold file lacks: 'z0', 'z1'.*and 2 more"):
        check_questions(strange, {"a"})
    check_questions(strange, strange.rows.keys())
    assert some(["a"]) == "'a'"


def test_shards_of_one_run_are_joined_and_repeats_are_not() -> None:
    header = {"method": {"name": "m"}}
    one = Results(header, ({"shard": "1/2"},), (answered("a", "x"),))
    two = Results(header, ({"shard": "2/2"},), (answered("b", "x"),))
    other = Results({"method": {"name": "n"}}, (), (answered("c", "x"),))
    joined, lone, again = gather({"one": one, "other": other, "two": two, "again": one})
    assert (joined.name, list(joined.rows), len(joined.segments)) == ("one", ["a", "b"], 2)
    assert (lone.name, again.name, list(again.rows)) == ("other", "again", ["a"])


def test_a_table_lists_what_a_run_has_and_a_dash_for_what_nobody_can_say() -> None:
    examples = asked("q", "?", documents=("d",)), asked("r", "Ann")
    search = judged(run(answered("q", "", "d"), answered("r", ""), name="search"), *examples, metrics=())
    closed = judged(run(answered("q", "x"), Row("r", "failed"), name="closed"), *examples, metrics=("EM",))
    other = judged(run(answered("q", "x"), name="other"), *examples, metrics=("EM",))
    shown = tables(
        Report("Results", "EM", ignore_self=False, verdicts=(closed, search, other), baseline=closed)
    )
    answers, found = shown.index("## Answers"), shown.index("## Retrieval")
    assert "search" in shown[:answers]
    assert "search" not in shown[answers:found]
    assert re.search(r"\| search +\| all +\| 2 +\| 2 +\| 0 +\| 0 +\| 0 +\| 0 +\| – +\| – +\| – ", shown)
    assert re.search(r"\| other \*partial\* +\| all +\| 2 +\| 1 +\| 0 +\| 0 +\| 0 +\| 1 +\| ", shown)
    assert "the runs have no question in common that has a value in both" in shown
    assert remarks(closed)[0] == "partial: 1 of 2 questions failed"
    assert "`EM`: undefined for 1 of 2: the gold answers have nothing to compare" in remarks(closed)


def test_a_search_that_is_not_at_its_end_has_no_share_of_right_answers() -> None:
    search = judged(run(answered("q", "", "d")), asked("q", "x", documents=("d",)), asked("r", "x"))
    assert (search.outcomes[0].judged, search.outcomes[0].right) == (0, 0)
    assert judged(run(Row("q", "failed")), asked("q", "x")).outcomes[0].judged == 1


def test_the_summary_has_a_row_for_each_run_with_what_a_question_costs() -> None:
    row = replace(answered("q", "x", "d"), calls=1, cached_calls=2, prompt_tokens=70, cached_tokens=23)
    examples = asked("q", "x", documents=("d",)), asked("r", "x", documents=("e",))
    whole = judged(run(row, answered("r", "no"), name="whole"), *examples, metrics=("EM", "recall@1"))
    none = judged(run(name="none"), *examples, metrics=("EM", "recall@1"))
    shown = tables(Report("T", "EM", ignore_self=False, verdicts=(whole, none)))
    summary = shown.partition("## Summary")[2].partition("\n## ")[0]
    assert re.search(r"\| whole +\| 2 +\| 0\.500 +\| 0\.500 +\| 1\.5 +\| 46 +\| ", summary)
    assert re.search(r"\| none \*partial\* +\| 2 +\| 0\.000 +\| 0\.000 +\| – +\| – +\| – ", summary)


def test_a_page_of_several_sets_has_a_section_for_each() -> None:
    verdict = judged(run(answered("q", "x", "text", "d")), asked("q", "x", documents=("d",)))
    one = Report("near", "EM", ignore_self=False, verdicts=(verdict,), baseline=verdict)
    shown = page("Title", "make it", [one, replace(one, title="far")])
    heads = [line for line in shown.splitlines() if line.startswith("#")]
    assert heads[:3] == ["# Title", "## near", "### Summary"]
    assert heads.index("## far") > heads.index("### Cost")
    assert heads[-1] == "## Runs"
    assert "\nmake it\n" in shown


def test_decisions_and_roles_are_shown_for_the_runs_that_have_them() -> None:
    rows = [replace(answered(name, "x"), notes=("mimic dropped",) if name == "q" else ()) for name in "qr"]
    method: dict[str, Json] = {"name": "rankrag", "llm": "small", "writer": "large"}
    verdict = judged(run(*rows), asked("q", "x"), asked("r", "x"))
    plain = replace(verdict.run, name="plain", rows={}, header={"method": {"name": "hybrid", "llm": "small"}})
    searching = replace(verdict.run, name="searching", header={"method": {**method, "answers": False}})
    marked = replace(verdict.run, name="marked", header={"method": method})
    verdicts = tuple(replace(verdict, run=one) for one in (plain, marked, searching))
    shown = tables(Report("T", "EM", ignore_self=False, verdicts=verdicts))
    assert re.search(r"\| marked † +\| mimic dropped +\| 1 of 2 +\|", shown)
    roles = shown.partition("## Models")[2]
    assert re.search(r"\| plain +\| small +\| – +\|", roles)
    assert re.search(r"\| marked † +\| small +\| large +\|", roles)
    assert re.search(r"\| searching † +\| – +\| large +\|", roles)
    assert "† Its authors trained a model" in shown


def test_of_an_exam_the_chosen_option_counts_and_no_part_of_it() -> None:
    exam = [
        replace(asked(id_, "rises slowly"), question=Question(id_, "?", ("rises", "rises slowly"), "choice"))
        for id_ in "qr"
    ]
    found = judge(
        run(answered("q", "rises slowly"), answered("r", "rises")),
        Gold(tuple(exam), {}),
        right_by="option",
    )
    assert {figure.name: figure.mean.value for figure in found.figures} == {"option": 0.5}
    assert found.outcomes[0].right == 1
    plain = judge(run(answered("q", "x")), Gold((asked("q", "x"),), {}), right_by="EM")
    assert "option" not in {figure.name for figure in plain.figures}
