"""
The sentences in the source that a person may be told on the page, with the places that are filled in.

They are found by how they look: two words or more, no SQL, no log, no docstring. Modules that are
never shown are named here; single texts in not_shown.json, each with the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("app", "engines", "finetune", "voices")
NOT_SHOWN = (
    # What is typed into a terminal or a program is answered there, in English.
    r"app/[a-z_]*commands\.py",
    r"app/(__main__|diagnostics|following|notices|options|redacting|server|setup|studio|terminal)\.py",
    r"app/(testing|version|works|door|front|voice_views)\.py",
    r"app/setup/.*",
    r"app/speech/.*",
    # Texts that are spoken, read aloud or compared with, and how a language reads.
    r"finetune/(spoken_samples|spoken_scripts)\.py",
    r"engines/texts/.*",
    r"engines/pocket/(reading|phones|piper_symbols|lexicon|letters)\.py",
    r"engines/pocket/pretrain/.*",
)
LOGS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
OURS_TO_MEND = {"ValueError", "RuntimeError", "TypeError", "AssertionError", "KeyError"}
SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|CREATE|DELETE|ALTER|PRAGMA|WITH|BEGIN|DROP|ORDER|WHERE)\b"
)
PROSE = re.compile(
    r"[A-Za-z]*[a-z]{2,}[,.:;]? +\(?[a-z]{2,}|^[A-Z][a-z]+ [a-z]"
    r"|(^|[ (])[A-Za-z]?[a-z]{2,}[,.:;]? \{|\} [a-z]{2,}([ ,.:;)]|$)"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence as it is written: {name} stands where something is filled in."""

    where: str
    text: str


def sentences() -> list[Sentence]:
    """Each once, in the order of the files."""
    found: dict[str, Sentence] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if any(re.fullmatch(each, name) for each in NOT_SHOWN):
                continue
            for line, text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
                if PROSE.search(text) and not SQL.match(text):
                    bare = text.strip()
                    found.setdefault(bare, Sentence(f"{name}:{line}", bare))
    return list(found.values())


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    passed = set(_not_told(tree))
    for node in _walk(tree, passed):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, _joined(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _walk(node: ast.AST, passed: set[ast.AST]) -> Iterator[ast.AST]:
    """What is in it, without the parts that are told to nobody; a joined text as one."""
    for child in ast.iter_child_nodes(node):
        if child in passed:
            continue
        yield child
        if isinstance(child, ast.JoinedStr):
            for value in child.values:
                if isinstance(value, ast.FormattedValue):
                    yield from _walk(value, passed)
        else:
            yield from _walk(child, passed)


def _not_told(tree: ast.Module) -> Iterator[ast.AST]:
    """Docstrings, logs, what is raised of our own mistakes, asserts, patterns."""
    for node in ast.walk(tree):
        if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) or isinstance(
            node, ast.Assert
        ):
            yield node
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            if _called(node.exc) in OURS_TO_MEND:
                yield node
        elif isinstance(node, ast.Call) and (_called(node) in LOGS or _called(node) == "compile"):
            yield node


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _joined(node: ast.JoinedStr) -> str:
    used: list[str] = []
    parts = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            used.append(_name(value.value, used))
            parts.append(f"{{{used[-1]}}}")
        else:
            parts.append(value.value)  # type: ignore[attr-defined]
    return "".join(parts)


def _name(node: ast.expr, used: list[str]) -> str:
    """A name for what is filled in: that of the expression, if it has one."""
    names = [each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    names += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    name = (names or ["x"])[0].strip("_").lower()
    taken = sum(each.rstrip("0123456789") == name.rstrip("0123456789") for each in used)
    return f"{name}{taken + 1}" if taken else name
