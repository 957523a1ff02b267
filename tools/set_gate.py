"""Write the errors that tests hold further changes to: `python tools/set_gate.py`.

Run it where they fell; where they grew, say why in the commit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from calibration.gate import BASELINE, errors


def main() -> None:
    """Validate, print and write."""
    with tempfile.TemporaryDirectory() as folder:
        found = errors(Path(folder))
    lines = ["# Written by tools/set_gate.py: mean errors that may not grow by more than 2 points."]
    lines += [f"{name}: {value:.4f}" for name, value in found.items()]
    BASELINE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
