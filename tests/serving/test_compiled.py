"""The cache of compiled code is keyed on what it is made of, and on nothing else."""

from __future__ import annotations

from racktwin.serving.compiled import compiled


def test_the_sources_are_those_of_compiled_functions_and_what_they_import() -> None:
    found = compiled.sources()
    assert {"kernel", "flow", "disaggregation", "fleet", "clock", "compiled"} <= set(found)
    assert not {"outcome", "simulation", "oracle", "workload"} & set(found)
    assert all(set(compiled.imported.findall(text)) <= set(found) for text in found.values())


def test_a_part_of_another_function_can_be_called_as_well() -> None:
    @compiled
    def half(number: float) -> float:
        return number / 2

    @compiled
    def twice_half(number: float) -> float:
        return half(number) + half(number)

    assert twice_half(3.0) == 3.0
    assert half(3.0) == 1.5
    assert twice_half(3) == 3.0  # other types, compiled apart
    assert half(5) == 2.5
