"""Run the commands that README and docs/ show and keep their output: `python tools/docs.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from house import page, surface


def main(root: Path) -> int:
    """Rewrite the pages whose marked blocks print something else now, and name them."""
    for path in page.pages(root):
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            _keep(path, page.renewed(text, Path(folder), root, slow=True), root)
    _keep(root / surface.PAGE, surface.page(root), root)
    return 0


def _keep(path: Path, new: str, root: Path) -> None:
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if page.timeless(new) != page.timeless(old):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
