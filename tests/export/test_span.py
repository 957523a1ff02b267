"""How replicas sit on hosts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from racktwin.export.span import Span, span


def test_hand_values() -> None:
    assert span(2, 4) == Span(hosts=1, gpus=2, share=2)
    assert span(16, 4) == Span(hosts=4, gpus=4, share=1)
    assert span(6, 4) == Span(hosts=2, gpus=3, share=1)
    assert span(3, 8) == Span(hosts=1, gpus=3, share=2)
    assert span(2, 4).hosts_of(5) == 3
    assert span(16, 4).hosts_of(5) == 20
    assert [span(2, 4).slot(replica) for replica in range(4)] == [0, 1, 0, 1]


@given(st.integers(1, 300), st.sampled_from([1, 4, 8]))
def test_every_gpu_has_a_place_and_no_host_is_overfull(gpus: int, per_host: int) -> None:
    found = span(gpus, per_host)
    assert found.hosts * found.gpus == gpus
    assert found.gpus * found.share <= per_host
