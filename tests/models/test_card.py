"""The card of a model: plain data that agrees with the functions behind it."""

from __future__ import annotations

import json

import pytest

from racktwin import models


@pytest.mark.parametrize("name", models.names())
def test_cards_are_plain_data(name: str) -> None:
    card = json.loads(json.dumps(models.card(name)))
    found = models.model(name)
    assert sum(kind["count"] for kind in card["layers"]) == len(found.architecture.layers)
    assert card["parameters"]["total"] == models.parameters(found.architecture).total
    assert card["kv_bytes_per_token"]["bf16"]["uniform"] == models.kv_bytes_per_token(
        found.architecture
    )
    assert sum(card["weights"]["bf16"].values()) == pytest.approx(2 * card["parameters"]["total"])
    assert sum(card["weights"]["nvfp4"].values()) < sum(card["weights"]["bf16"].values())
    assert card["source"]
    assert card["sources"][0]["kind"] in {"datasheet", "derived", "assumed"}


def test_layers_in_words() -> None:
    layers = {(kind["mixer"], kind["count"]) for kind in models.card("gpt-oss-20b")["layers"]}
    assert layers == {
        ("attention, 64 heads x 64, 8 key-value heads, window 128", 12),
        ("attention, 64 heads x 64, 8 key-value heads", 12),
    }
