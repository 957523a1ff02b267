"""A model on one screen: parameters, layers, cache, weights by precision."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from racktwin.cli.console import table
from racktwin.units import Bytes


def model_card(card: dict[str, Any]) -> list[RenderableType]:
    """The screen of the plain data that `models.card` returns."""
    made = Table.grid(padding=(0, 3, 0, 0))
    counts = card["parameters"]
    made.add_row(
        "parameters", f"{_billions(counts['total'])}, {_billions(counts['active'])} active"
    )
    made.add_row("", f"active counts {counts['active_counts']}")
    for index, layer in enumerate(card["layers"]):
        parts = [part for part in (layer["mixer"], layer["feedforward"]) if part]
        made.add_row("" if index else "layers", f"{layer['count']} x {'; '.join(parts)}")
    if card["draft_layers"]:
        draft = _billions(counts["draft"])
        made.add_row("", f"{card['draft_layers']} draft layers ({draft}), not in the totals")
    sizes = f"{card['hidden']:,} wide, vocabulary {card['vocab']:,}"
    made.add_row("context", f"{card['context']:,} tokens; {sizes}")
    for index, line in enumerate(_cache(card)):
        made.add_row("" if index else "KV cache", line)
    if card["state_bytes_per_sequence"]:
        made.add_row("state", f"{Bytes(card['state_bytes_per_sequence'])} a sequence")
    made.add_row("tensor", ", ".join(map(str, card["tensor_sizes"])))
    made.add_row("source", card["source"])
    for note in card["notes"]:
        made.add_row("note", note)
    return [made, "", _weights(card["weights"], card["checkpoint"])]


def _billions(count: float) -> str:
    return f"{count / 1e9:,.1f} billion" if count >= 1e9 else f"{count / 1e6:,.1f} million"


def _cache(card: dict[str, Any]) -> list[str]:
    """One line where windowed layers make no difference, else one for each way to hold them."""
    lines = []
    per_token, full = card["kv_bytes_per_token"], card["kv_bytes_at_context"]
    ways = {"uniform": "all layers in full", "hybrid": "windows only"}
    same = full["uniform"] == full["hybrid"]
    for pool, way in ways.items():
        bf16, fp8 = (f"{per_token[dtype][pool]:,.0f}" for dtype in ("bf16", "fp8"))
        line = f"{bf16} B a token in bf16, {fp8} in fp8; {Bytes(full[pool])} at full context"
        lines.append(line if same else f"{line} ({way})")
    return lines[:1] if same else lines


def _weights(weights: dict[str, dict[str, float]], checkpoint: str) -> Table:
    names = {f"as published ({checkpoint})": weights["checkpoint"]}
    names |= {
        name: parts for name, parts in weights.items() if name not in ("checkpoint", checkpoint)
    }
    made = table("", *names, title="weights", right=tuple(names))
    for part in weights["checkpoint"]:
        made.add_row(part, *(Bytes(parts.get(part, 0.0)).text(3) for parts in names.values()))
    totals = [Bytes(sum(parts.values())).text(4) for parts in names.values()]
    made.add_row("total", *totals, style="bold")
    return made
