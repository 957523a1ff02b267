"""The public surface: what `racktwin` and each package offer, kept as a page that is compared."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from house.tree import Source, Violation, sources

PAGE = Path("docs/reference/public-surface.md")
HEAD = """# Public surface

What `racktwin` and its packages offer, as listed in each `__all__`; anything else may change
without notice. Written by `make docs`; `make check` compares it.
"""


def check(root: Path) -> list[Violation]:
    """Every package has `__all__`, and it equals the list on the page."""
    offered = surface(root)
    page = root / PAGE
    listed = _listed(page.read_text(encoding="utf-8")) if page.exists() else {}
    found = []
    for package in sorted(offered.keys() | listed.keys()):
        names, known = offered.get(package), listed.get(package, [])
        if names is None:
            found.append(Violation(str(PAGE), 1, f"{package} is listed but does not exist"))
            continue
        for name in sorted(set(names) ^ set(known)):
            state = "offered but not listed" if name in names else "listed but not offered"
            found.append(Violation(str(PAGE), 1, f"{package}.{name}: {state} (make docs)"))
    return found + _without_list(root)


def surface(root: Path) -> dict[str, list[str]]:
    """Sorted names in `__all__` by package; packages that offer nothing are left out."""
    named = {_package(source): _all(source.tree) for source in _inits(root)}
    return {package: sorted(names) for package, names in sorted(named.items()) if names}


def page(root: Path) -> str:
    """The page: every name with the first line of its docstring."""
    modules = list(sources(root, "src/racktwin"))
    lines = [HEAD]
    for package, names in surface(root).items():
        lines.append(f"## {package}\n")
        folder = "src/" + package.replace(".", "/") + "/"
        for name in names:
            first = _first_line(name, [each for each in modules if each.path.startswith(folder)])
            lines.append(f"- `{name}`: {first}" if first else f"- `{name}`")
        lines.append("")
    return "\n".join(lines)


def _inits(root: Path) -> list[Source]:
    return [each for each in sources(root, "src") if each.path.endswith("/__init__.py")]


def _package(source: Source) -> str:
    return source.path.removeprefix("src/").removesuffix("/__init__.py").replace("/", ".")


def _all(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            assert isinstance(node, ast.Assign)
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def _without_list(root: Path) -> list[Violation]:
    """A package that imports or defines names says which are public; one inside it is its own."""
    definitions = (ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    return [
        Violation(source.path, 1, "no __all__: say what this package offers")
        for source in _inits(root)
        if _all(source.tree) is None
        and source.path.count("/") <= 3
        and any(
            isinstance(node, definitions) and getattr(node, "module", "") != "__future__"
            for node in source.tree.body
        )
    ]


def _first_line(name: str, modules: list[Source]) -> str:
    likely = sorted(modules, key=lambda each: (each.path.count("/"), name not in each.path))
    for module in likely:
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def _listed(text: str) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {}
    package = ""
    for line in text.splitlines():
        if line.startswith("## "):
            package = line.removeprefix("## ").strip()
            listed[package] = []
        elif match := re.match(r"- `(\w+)`", line):
            listed[package].append(match[1])
    return listed
