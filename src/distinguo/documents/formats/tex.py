"""LaTeX: its text without commands, formulas as they are written, under the headings of its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, cast

from distinguo.documents.drafting import Draft
from distinguo.documents.encodings import decoded
from distinguo.errors import DataError
from distinguo.records import Document

LARGEST: Final = 4_000_000
"""Most characters of a file: it is read by a slow parser."""
_OPEN, _CLOSE = "\x02", "\x03"
"""Around headings; no clean text holds them."""
_HEADING: Final = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_HEADINGS: Final = (
    *("title", "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph"),
)
_POINTERS: Final = (  # to other places, and to other texts
    *(
        "label",
        "ref",
        "eqref",
        "pageref",
        "autoref",
        "cref",
        "Cref",
        "nameref",
        "bibliography",
        "cite",
        "citep",
    ),
    *("citet", "citealp", "citealt", "citeauthor", "citeyear", "parencite", "textcite", "autocite", "nocite"),
)
_SILENT: Final = (
    *_POINTERS,
    *("maketitle", "date", "input", "include", "includegraphics", "marginpar", "todo", "vspace", "hspace"),
)
_SPACES: Final = re.compile(r"[ \t]+")
_SPACE_BEFORE_STOP: Final = re.compile(r" +(?=[.,;:])")
_GAP: Final = re.compile(r"\n{3,}")


def read(content: bytes, name: str) -> Iterator[Document]:
    """The text; files that it includes are not followed."""
    text = decoded(content)
    if len(text) > LARGEST:
        raise DataError(f"LaTeX of {len(text):,} characters; expected at most {LARGEST:,}")
    plain: str = _converter().latex_to_text(text, tolerant_parsing=True, latex_context=_grammar())
    draft = Draft()
    pieces = iter(_HEADING.split(plain))  # text, heading, text, heading, … text
    draft.write(_tidy(next(pieces)))
    for heading, piece in zip(pieces, pieces, strict=True):
        draft.head(heading)
        draft.write(_tidy(piece))
    yield draft.document(name, next(iter(draft.headings), ""))


def _tidy(text: str) -> str:
    """`text` without the gaps that commands leave."""
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return _GAP.sub("\n\n", _SPACE_BEFORE_STOP.sub("", "\n".join(lines)))


def _grammar() -> object:
    """Which commands take arguments, so that these are not taken for text."""
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import MacroSpec

    grammar: Any = get_default_latex_context_db()
    arguments: Any = "*[[{"
    macros = [MacroSpec(name, arguments) for name in _POINTERS]
    grammar.add_context_category("distinguo", macros=macros, prepend=True)
    return grammar


class _Arguments(Protocol):
    argnlist: Sequence[object]


class _Node(Protocol):
    """A command or environment as pylatexenc, which has no annotations, gives it."""

    nodeargd: _Arguments

    def latex_verbatim(self) -> str: ...


class _Converter(Protocol):
    """pylatexenc's writer of plain text."""

    def nodelist_to_text(self, nodelist: Sequence[object]) -> str: ...
    def latex_to_text(self, latex: str, *, tolerant_parsing: bool, latex_context: object) -> str: ...


def _heading(node: _Node, l2tobj: _Converter) -> str:
    arguments = node.nodeargd.argnlist
    return f"{_OPEN}{l2tobj.nodelist_to_text([arguments[-1]])}{_CLOSE}" if arguments else ""


def _verbatim(node: _Node) -> str:
    return node.latex_verbatim()


def _converter() -> _Converter:
    from pylatexenc.latex2text import (
        EnvironmentTextSpec,
        LatexNodes2Text,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    context: Any = get_default_latex_context_db()
    context.add_context_category(
        "distinguo",
        macros=[
            *(MacroTextSpec(name, _heading) for name in _HEADINGS),
            *(MacroTextSpec(name, "") for name in _SILENT),
        ],
        environments=[EnvironmentTextSpec(name, _verbatim) for name in ("verbatim", "lstlisting")],
        prepend=True,
    )
    return cast(
        "_Converter", LatexNodes2Text(latex_context=context, math_mode="verbatim", strict_latex_spaces=False)
    )
