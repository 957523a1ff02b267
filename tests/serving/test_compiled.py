"""The cache of compiled code is keyed on what it is made of, and on nothing else."""

from __future__ import annotations

from racktwin.serving.compiled import compiled


def test_the_sources_are_those_of_compiled_functions_and_what_they_import() -> None:
    found = compiled.sources()
    assert {"kernel", "flow", "disaggregation", "fleet", "clock", "compiled"} <= set(found)
    assert not {"outcome", "simulation", "oracle", "workload"} & set(found)
    assert all(set(compiled.imported.findall(text)) <= set(found) for text in found.values())
