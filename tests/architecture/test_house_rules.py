"""Rules of style that no linter knows: each is a function from a module to what offends in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "distinguo"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 400
PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
READERS = {"open": 1, "fdopen": 1, "read_text": None, "write_text": None}
"""Functions that open text, and the place of their `mode` argument."""


def opens_with_one_sentence(tree: ast.Module) -> Iterator[str]:
    first, _, _ = (ast.get_docstring(tree) or "").partition("\n")
    if not re.fullmatch(r"\S.*[.]", first) or re.search(r"[.!?] [A-Z]", first):
        yield f"1: the docstring's first line should be one sentence, not {first!r}"


def states_its_encodings(tree: ast.Module) -> Iterator[str]:
    for call in calls(tree):
        name = called(call)
        if name in READERS and is_text(call, READERS[name]) and not has_keyword(call, "encoding"):
            yield f"{call.lineno}: {name}() without encoding"


def prints_nothing(tree: ast.Module) -> Iterator[str]:
    for call in calls(tree):
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            yield f"{call.lineno}: print() outside cli"


def pickles_nothing(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported = {alias.name for alias in names}
            case ast.ImportFrom(module=str(module)):
                imported = {module}
            case _:
                continue
        if PICKLES & {name.partition(".")[0] for name in imported}:
            yield f"{node.lineno}: pickles run code when they are read"


def formats_no_templates(tree: ast.Module) -> Iterator[str]:
    for call in calls(tree):
        if called(call) in {"format_map", "Template"} or (
            called(call) == "format" and isinstance(call.func, ast.Attribute)
        ):
            yield f"{call.lineno}: untrusted text could meet this template; use an f-string"


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def has_keyword(call: ast.Call, name: str) -> bool:
    return any(keyword.arg == name for keyword in call.keywords)


def is_text(call: ast.Call, place: int | None) -> bool:
    """Whether the call opens text; low-level opens, whose second argument is a number, do not."""
    if place is None:
        return True
    is_method_of_a_path = isinstance(call.func, ast.Attribute) and called(call) == "open"
    arguments = call.args[0 if is_method_of_a_path else place :][:1]
    arguments += [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    match arguments:
        case []:
            return True
        case [ast.Constant(value=str(mode))]:
            return re.fullmatch(r"[rwax+tU]+", mode) is not None
    return False


RULES = [
    opens_with_one_sentence,
    states_its_encodings,
    prints_nothing,
    pickles_nothing,
    formats_no_templates,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule) -> None:
    offences = [
        f"{path.relative_to(SOURCE)}:{offence}"
        for path in MODULES
        if not (rule is prints_nothing and path.is_relative_to(SOURCE / "cli"))
        for offence in rule(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert offences == []


def test_no_module_is_longer_than_a_reader_bears() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path.name: length for path, length in lengths.items() if length > MAX_LINES} == {}


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (opens_with_one_sentence, "import os"),
        (opens_with_one_sentence, '"""Reads files. Writes them too."""'),
        (states_its_encodings, "open(path)"),
        (states_its_encodings, "open(path, 'w')"),
        (states_its_encodings, "path.open('a')"),
        (states_its_encodings, "path.open()"),
        (states_its_encodings, "path.read_text()"),
        (states_its_encodings, "os.fdopen(number, mode='w')"),
        (prints_nothing, "print('x')"),
        (pickles_nothing, "import pickle"),
        (pickles_nothing, "from joblib.numpy_pickle import load"),
        (formats_no_templates, "TEMPLATE.format(question=text)"),
        (formats_no_templates, "string.Template(text)"),
    ],
)
def test_a_rule_finds_what_offends(rule, code: str) -> None:
    assert list(rule(ast.parse(code))) != []


@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'rb')",
        "open(path, encoding='utf-8')",
        "path.open('wb')",
        "os.open(path, os.O_RDONLY)",
        "os.fdopen(number, 'w', encoding='utf-8')",
        "archive.open(member)",
    ],
)
def test_bytes_and_stated_encodings_are_welcome(code: str) -> None:
    assert list(states_its_encodings(ast.parse(code))) == []
