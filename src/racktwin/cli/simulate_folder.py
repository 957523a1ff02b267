"""What `racktwin simulate --out` writes: the report, the data, and the steps of a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from racktwin.dashboard.neighbours_report import neighbours_report
from racktwin.dashboard.run_report import run_report
from racktwin.export.folder import check_folder, write_folder
from racktwin.export.steps import steps_json
from racktwin.finding import BadInput, Finding
from racktwin.planning.neighbours import Neighbours
from racktwin.planning.replay import Replay


def check_targets(out: str, requests_out: str, window: str | None) -> None:
    """Refuse targets that cannot be written, before anything is simulated."""
    found = []
    if window is not None and not out:
        found.append(Finding("--trace-window", "the steps are written into --out; give a folder"))
    if requests_out:
        path = Path(requests_out)
        if path.is_dir() or not path.parent.is_dir():
            reason = "is a folder" if path.is_dir() else "its folder does not exist"
            found.append(Finding("--requests-out", f"{requests_out}: {reason}"))
    if found:
        raise BadInput(found, "simulate")
    if out:
        check_folder(out)


def write_run(target: str, found: Replay, answer: dict[str, Any]) -> tuple[str, ...]:
    """Write all files into the folder `target`; their paths."""
    files = {"report.html": run_report(found, answer), "simulate.json": _text(answer)}
    if found.order.window:
        files["steps.json"] = steps_json(found.run)
    return _write(target, files)


def write_neighbours(target: str, found: Neighbours, answer: dict[str, Any]) -> tuple[str, ...]:
    """Write all files into the folder `target`; their paths. Steps go into a file for each."""
    files = {"report.html": neighbours_report(found, answer), "simulate.json": _text(answer)}
    for number, each in enumerate(found.replays, 1):
        if each.order.window:
            files[f"steps-{number}.json"] = steps_json(each.run)
    return _write(target, files)


def _text(answer: dict[str, Any]) -> str:
    data = msgspec.json.format(msgspec.json.encode(answer, enc_hook=float), indent=2)
    return data.decode() + "\n"


def _write(target: str, files: dict[str, str]) -> tuple[str, ...]:
    write_folder(target, files)
    return tuple(f"{target}/{name}" for name in files)
