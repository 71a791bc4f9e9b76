"""The commands, their options and their exit codes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from distinguo.cli.kept import JsonOption, cache, models
from distinguo.errors import ConfigError, DistinguoError

CODES: Final = (
    "Exit codes: 0 answered, abstained or done; 1 an error of data, of a backend or of a budget; "
    "2 a mistake in the command or the configuration; 3 the model's reply was unreadable; "
    "4 the question failed; 70 a fault of Distinguo; 130 interrupted. "
    "An error is one line of text on standard error, with --json too."
)

app = typer.Typer(
    name="distinguo",
    epilog=CODES,
    help="Ask your own documents: a cited answer, or an honest silence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(models, name="models")
app.add_typer(cache, name="cache")

EXIT_OF_STATE: Final = {"answered": 0, "abstained": 0, "unreadable": 3, "failed": 4}

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="TOML file (default: ./distinguo.toml if there is one).")
]
MaxCostOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Tokens, cached ones not counted, after which no call begins; those in flight end."
    ),
]
NameOption = Annotated[str, typer.Option("--name", "-n", help="The index's name in the configuration.")]


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"distinguo {version('distinguo')}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks and the log; may stand anywhere.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Options for all commands."""
    if debug:
        import logging

        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
        for name in ("httpx", "httpcore"):  # they log addresses, whose queries may hold keys
            logging.getLogger(name).setLevel(logging.WARNING)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("distinguo.toml"),
) -> None:
    """Write a starter configuration, every setting with its default."""
    from distinguo.cli.housekeeping import write_starter

    write_starter(path)


@app.command()
def index(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FOLDER|FILE|URL",
            help="What to read (default: all that this index was made from).",
            show_default=False,
        ),
    ] = None,
    name: NameOption = "default",
    config: ConfigOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Start over, with the settings as they are now.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Delete documents whose files are gone.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would do and need; write nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Index documents, or bring an index up to date: what has not changed is neither parsed nor embedded."""
    from distinguo.cli.indexing import index_documents, plan_documents

    act = plan_documents if dry_run else index_documents
    act(places or [], name=name, config=config, rebuild=rebuild, prune=prune, as_json=as_json)


@app.command()
def remove(
    things: Annotated[
        list[str],
        typer.Argument(metavar="ID|FILE|FOLDER|URL", help="Which documents.", show_default=False),
    ],
    name: NameOption = "default",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take documents out of an index."""
    from distinguo.cli.indexing import remove_documents

    remove_documents(things, name=name, config=config, as_json=as_json)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads it from standard input.")],
    method: Annotated[str | None, typer.Option("--method", "-m", help="One of `distinguo methods`.")] = None,
    config: ConfigOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what was sought, found, dropped and spent.")
    ] = False,
    as_json: JsonOption = False,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Model calls at most.")] = None,
) -> None:
    """Ask one question: a cited answer, or an honest silence."""
    from distinguo.cli.asking import ask_once

    state = ask_once(
        question, method=method, config=config, explain=explain, as_json=as_json, max_calls=max_calls
    )
    raise typer.Exit(EXIT_OF_STATE[state])


@app.command("run")
def run_command(
    questions: Annotated[
        str, typer.Argument(help="A questions file (JSON Lines), or a set in DISTINGUO_DATA by its name.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The result file; one that is there goes on.")
    ] = Path("results.jsonl"),
    method: Annotated[str | None, typer.Option("--method", "-m", help="One of `distinguo methods`.")] = None,
    config: ConfigOption = None,
    at_once: Annotated[int, typer.Option(min=1, help="Questions in flight.")] = 64,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    shard: Annotated[str, typer.Option(help="Only this part, such as 1/2: by a hash of the ids.")] = "1/1",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what ended unreadable or failed.")
    ] = False,
    max_cost: MaxCostOption = None,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Model calls at most.")] = None,
    omit_texts: Annotated[bool, typer.Option("--omit-texts", help="Leave out the questions' texts.")] = False,
    traces: Annotated[bool, typer.Option(help="Keep what happened in each question, for `show`.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Run a method over many questions; a run that was broken off goes on where it was."""
    from distinguo.cli.running import Wishes, run_questions
    from distinguo.running.shards import Shard

    is_done = run_questions(
        questions,
        results=out,
        method=method,
        config=config,
        wishes=Wishes(at_once, limit, Shard.of(shard), retry_failed, not omit_texts, traces),
        max_calls=max_calls,
        max_tokens=max_cost,
        as_json=as_json,
    )
    raise typer.Exit(0 if is_done else 1)


@app.command()
def grid(
    file: Annotated[Path, typer.Argument(help="TOML: sets, a corpus, models, runs and plots.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the result files.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Only this cell (named by --dry-run); may stand often.")
    ] = None,
    is_dry: Annotated[bool, typer.Option("--dry-run", help="List the cells and how far they are.")] = False,
    page: Annotated[Path | None, typer.Option(help="Write the page of results there.")] = None,
    omit_texts: Annotated[bool, typer.Option("--omit-texts", help="Leave out the questions' texts.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what ended unreadable or failed.")
    ] = False,
    max_cost: MaxCostOption = None,
    traces: Annotated[bool, typer.Option(help="Keep what happened in each question, for `show`.")] = False,
    at_once: Annotated[int, typer.Option(min=1, help="Questions in flight.")] = 64,
) -> None:
    """Run methods × settings × sets, each cell into a file of its own; what is done is not done again."""
    from distinguo.cli.gridding import Paper, list_cells, run_grid
    from distinguo.cli.running import Wishes
    from distinguo.config.grid import GridSettings

    if is_dry:
        list_cells(file, out, only or [])
        return
    wishes = Wishes(at_once, None, retry_failed=retry_failed, with_texts=not omit_texts, with_traces=traces)
    paper = Paper(page, f"distinguo grid {file} --out {out} --page {page}") if page else None
    is_done = run_grid(
        GridSettings.load(file), out, only or [], wishes=wishes, page=paper, max_tokens=max_cost
    )
    raise typer.Exit(0 if is_done else 1)


@app.command()
def sweep(
    method: Annotated[str, typer.Argument(help="A method by its name.")],
    questions: Annotated[
        str, typer.Option("--set", "-s", help="A questions folder, or a set in DISTINGUO_DATA by its name.")
    ],
    over: Annotated[
        list[str],
        typer.Option(
            help="A number and its values: penalty=0:1:0.1 (first:last:step) or k=1,5. A second makes lines."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of results, table and plots.")],
    measure: Annotated[str, typer.Option(help="A metric, such as nDCG@10 or contains_words.")] = "nDCG@10",
    settings: Annotated[
        list[str] | None, typer.Option("--with", help="Another setting of the method: k=10; may stand again.")
    ] = None,
    corpus: Annotated[
        str, typer.Option(help="Sets whose documents are searched, with commas (default: your own index).")
    ] = "",
    answers: Annotated[bool, typer.Option(help="Answer, or only search: no reader is called.")] = True,
    split: Annotated[str, typer.Option(help="Only questions of this split.")] = "",
    sample: Annotated[int, typer.Option(min=0, help="Only so many questions; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Draws --sample.")] = 0,
    config: ConfigOption = None,
) -> None:
    """Run a method over one or two numbers: one table and one plot, with intervals."""
    from distinguo.cli.sweeping import Swept, run_sweep

    swept = Swept(method, questions, tuple(over), tuple(settings or ()), corpus, answers, split, sample, seed)
    raise typer.Exit(0 if run_sweep(swept, measure, out, config) else 1)


@app.command()
def score(
    runs: Annotated[list[Path], typer.Argument(help="Result files of `distinguo run`; shards are joined.")],
    gold: Annotated[
        str, typer.Option("--gold", "-g", help="The questions file, or a set in DISTINGUO_DATA by its name.")
    ],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", help="A metric, such as EM or recall@5; may stand again (default: all)."),
    ] = None,
    right_by: Annotated[
        str,
        typer.Option(
            help="The metric that tells right answers from wrong ones "
            "(default: contains_words; option, where all questions have options)."
        ),
    ] = "",
    qrels: Annotated[
        Path | None, typer.Option(help="Graded judgements (default: qrels.tsv beside the questions).")
    ] = None,
    against: Annotated[str, typer.Option(help="The run, by its file, that others are compared with.")] = "",
    ignore_self: Annotated[
        bool, typer.Option("--ignore-self", help="Leave out documents that have the question's own id.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a question failed or has no row.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write a page in Markdown, with the runs' settings.")
    ] = None,
    title: Annotated[str, typer.Option(help="The page's title.")] = "Results",
    as_json: JsonOption = False,
) -> None:
    """Score result files against gold answers and documents; nothing is run."""
    from distinguo.cli.scoring import Wishes, score

    score(
        runs,
        gold,
        Wishes(tuple(measures or ()), right_by, qrels, against, ignore_self, strict, title, page, as_json),
    )


@app.command()
def show(
    trace: Annotated[str, typer.Argument(help="A trace's id, the beginning of one, or 'last'.")] = "last",
    events: Annotated[
        bool, typer.Option("--events", help="Show every event instead: all prompts, replies and searches.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Explain one stored trace: what was sought, found, dropped and spent, and why it ended so."""
    from distinguo.cli.asking import show_stored

    show_stored(trace, events=events, as_json=as_json)


@app.command()
def methods(as_json: JsonOption = False) -> None:
    """List the methods, with their settings."""
    from distinguo.cli.housekeeping import list_methods

    list_methods(as_json=as_json)


@app.command()
def doctor(config: ConfigOption = None) -> None:
    """Check this machine, the places, the models, the cache and the indexes."""
    from distinguo.cli.doctor import examine

    raise typer.Exit(0 if examine(config) else 1)


def run(arguments: list[str] | None = None) -> None:
    """The program: errors in one line; tracebacks with ``--debug``, anywhere, or DISTINGUO_DEBUG."""
    _open_closed_streams()
    arguments, is_debugging = _debugging(sys.argv[1:] if arguments is None else arguments)
    try:
        app(arguments, prog_name="distinguo")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        if is_debugging:
            raise
        from distinguo.cli.console import complain

        message, code = _said(error)
        complain(message)
        _drop_output()
        raise SystemExit(code) from None


def _debugging(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments with ``--debug`` first, wherever it stood, and whether faults show their tracebacks."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    is_asked = len(options) < end
    return [*["--debug"] * is_asked, *options, *arguments[end:]], is_asked or "DISTINGUO_DEBUG" in os.environ


def _said(error: Exception) -> tuple[str, int]:
    """The line that a user reads, and the exit code."""
    match error:
        case ConfigError():
            return str(error), 2
        case DistinguoError():
            return str(error), 1
        case OSError():
            return f"the system refused: {error}", 1
        case _:
            fault = f"internal fault: {type(error).__name__}: {error}"
            return f"{fault}; run again with --debug and report it", 70


def _open_closed_streams() -> None:
    """Standard streams that are closed become the null device: else a file opened next takes their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  until the end


def _drop_output() -> None:
    """Let go of what standard output does not take (a full disk), lest it is tried again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
