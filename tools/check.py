"""Check the rules of the house beyond ruff, mypy and import-linter: `python tools/check.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from house import budget, constants, nomenclature, provenance, surface, wheel

CHECKS = {
    "size and names": budget.check,
    "facts in code": constants.check,
    "nomenclature": nomenclature.check,
    "public surface": surface.check,
    "sources in the catalog": provenance.check,
    "wheel and file sizes": wheel.check,
}


def main(root: Path) -> int:
    """Run every check, print every violation, and return the exit code."""
    failed = 0
    for name, check in CHECKS.items():
        violations = check(root)
        failed += bool(violations)
        print(f"{name}: {f'{len(violations)} violations' if violations else 'kept'}")
        for violation in violations:
            print(f"  {violation}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
