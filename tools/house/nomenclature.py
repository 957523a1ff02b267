"""Units and names: public physics says in which unit it speaks, in words of the nomenclature.

docs/nomenclature.md is the only list. A floating-point parameter, field or result passes when its
name means the same everywhere (table 'Names in code'), or when a docstring of the function, its
class or its module names it beside a unit of the table 'Units'. A record whose first line has a
unit ('Bytes on a GPU') speaks for all its fields.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from house.tree import Definition, Source, Violation, public, sources

PAGE = Path("docs/nomenclature.md")
NOT_PHYSICS = ("cli", "dashboard", "export", "catalog")
WHOLE = re.compile(r"NDArray\[np\.(bool_|u?int\w*)\]")
NUMERIC = re.compile(r"\b(float|ndarray|NDArray|Array|ArrayLike|Floats?)\b")
ENTRY = re.compile(r"^\s*`?\w+`?(, `?\w+`?)*( \([^)]*\))?:")
ABBREVIATION = re.compile(r"(?<![\w.$-])[A-Z]{2,}(?=s?(?!\w))")


class Nomenclature(NamedTuple):
    """The tables of the page."""

    units: re.Pattern[str]
    abbreviations: frozenset[str]
    names: frozenset[str]


def read(page: str) -> Nomenclature:
    """The nomenclature of a Markdown page."""
    units = [word for row in _rows(page, "Units") for cell in row[:2] for word in _words(cell)]
    alternatives = "|".join(re.escape(unit) for unit in sorted(units, key=len, reverse=True))
    abbreviations = [row[0].split(", ") for row in _rows(page, "Abbreviations")]
    names = [_words(row[0]) for row in _rows(page, "Names in code")]
    return Nomenclature(
        re.compile(rf"(?<![\w/'$])(?:{alternatives})(?![\w/])"),
        frozenset(each for row in abbreviations for each in row),
        frozenset(each for row in names for each in row),
    )


def check(root: Path) -> list[Violation]:
    """Every public number has a unit, every abbreviation a meaning."""
    known = read((root / PAGE).read_text(encoding="utf-8"))
    found = []
    for source in sources(root, "src/racktwin"):
        for line, docstring in _docstrings(source.tree):
            for each in sorted(_abbreviations(docstring) - known.abbreviations):
                found.append(Violation(source.path, line, f"{each} is not in {PAGE}"))
        package = source.path.split("/")[2]
        if package not in NOT_PHYSICS and not package.endswith(".py"):
            found += _without_unit(source, known)
    return found


def _rows(page: str, heading: str) -> list[list[str]]:
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def _words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Definition):
            if not public(getattr(node, "name", "")):
                continue
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def _abbreviations(docstring: str) -> set[str]:
    return set(ABBREVIATION.findall(re.sub(r"`[^`]*`", "", docstring)))


def _without_unit(source: Source, known: Nomenclature) -> list[Violation]:
    found = []
    module = ast.get_docstring(source.tree) or ""
    for node in source.tree.body:
        if isinstance(node, Definition) and public(node.name):
            found += _function(source.path, node, module, known)
        elif isinstance(node, ast.ClassDef) and public(node.name):
            text = f"{ast.get_docstring(node) or ''}\n\n{module}"
            found += _fields(source.path, node, text, known)
            for method in node.body:
                if isinstance(method, Definition) and public(method.name):
                    found += _function(source.path, method, text, known)
    return found


def _fields(path: str, node: ast.ClassDef, text: str, known: Nomenclature) -> list[Violation]:
    if known.units.search(_first_line(node)):
        return []
    return [
        _violation(path, field.lineno, f"{node.name}.{field.target.id}")
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if public(field.target.id) and _numeric(field.annotation)
        if not _stated(field.target.id, text, known)
    ]


def _function(path: str, node: Definition, outer: str, known: Nomenclature) -> list[Violation]:
    docstring = ast.get_docstring(node) or ""
    text = f"{docstring}\n\n{outer}"
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    found = [
        _violation(path, node.lineno, f"{node.name}({each.arg})")
        for each in arguments
        if _numeric(each.annotation) and not _stated(each.arg, text, known)
    ]
    words = set(node.name.split("_")) | {node.name}
    stated = known.units.search(docstring) or known.units.search(_first_line(node))
    if _numeric(node.returns) and not words & known.names and not stated:
        found.append(_violation(path, node.lineno, f"the result of {node.name}"))
    return found


def _first_line(node: ast.ClassDef | Definition) -> str:
    """The summary of a docstring, its first word as if within a sentence ('Bytes of ...')."""
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    return first[:1].lower() + first[1:]


def _numeric(annotation: ast.expr | None) -> bool:
    return annotation is not None and bool(NUMERIC.search(WHOLE.sub("", ast.unparse(annotation))))


def _stated(name: str, text: str, known: Nomenclature) -> bool:
    """Whether the name has a fixed unit, or stands in `text` in one passage with a unit."""
    if name in known.names:
        return True
    mention = re.compile(rf"\b{re.escape(name)}\b")
    return any(
        mention.search(passage) and known.units.search(passage) for passage in _passages(text)
    )


def _passages(text: str) -> list[str]:
    """Paragraphs, and within them the entries of a list of names ('name: what it is, unit')."""
    passages = [""]
    for line in text.splitlines():
        if not line.strip() or ENTRY.match(line):
            passages.append("")
        passages[-1] += " " + line
    return passages


def _violation(path: str, line: int, what: str) -> Violation:
    return Violation(path, line, f"{what}: no unit in the docstring, name not in {PAGE}")
