from __future__ import annotations

import numpy as np

from racktwin.serving.fleet import NOTHING_KNOWN
from racktwin.serving.prefixes import Prefixes, units
from racktwin.serving.ragged import Ragged
from racktwin.serving.trace import Trace

EVERY = np.ones(3, bool)


def trace(size: int = 2) -> Trace:
    rows = [[1, 2, 3], [1, 2, 3, 4, 5], [7]]
    prefix = Ragged.of([np.array(row) for row in rows])
    return Trace.of([0, 1, 2], [6, 9, 1], [1, 1, 1], prefix=prefix, block_size=size)


def test_a_unit_has_the_id_of_its_last_block() -> None:
    found = units(trace(), 4)  # 6 tokens are one unit of 4, 9 are two
    assert found.values.tolist() == [2, 2, 4]
    assert found.starts.tolist() == [0, 1, 3, 3]
    assert units(trace(), 2).lengths.tolist() == [3, 4, 0]
    assert units(trace(0), 4).lengths.tolist() == [0, 0, 0]


def test_a_turn_that_begins_with_the_one_before_names_its_answer() -> None:
    known = Prefixes(4)
    known.add(trace(), EVERY, np.array([-1, 0, 0]))
    assert known.heir.tolist() == [1, -1, -1]
    known.add(trace(), EVERY, np.array([-1, 3, 1]))
    assert known.heir.tolist() == [1, -1, -1, 4, -1, -1]  # the last does not begin like 1
    known.drop(3)
    assert known.heir.tolist() == [1, -1, -1]
    assert known.known.rows["start"].tolist() == [0, 1, 3, 3]


def test_a_turn_that_waits_for_others_still_goes_on_from_its_own_session() -> None:
    """The second turn waits for a sub-agent (row 2), and begins with the first turn (row 0)."""
    known = Prefixes(4)
    made = trace().having(session=np.array([5, -1, 6]))
    known.add(made, EVERY, np.array([-1, -1, 0]))
    assert known.heir.tolist() == [-1, -1, -1]
    later = made.having(session=np.array([-1, 5, -1]))
    known.add(later, EVERY, np.array([-1, 2, -1]))
    assert known.heir.tolist() == [4, -1, 4, -1, -1, -1]  # the sub-agent's prompt has no unit
    known.drop(3)
    assert known.latest == {5: 1}


def test_without_a_cache_nothing_is_kept() -> None:
    known = Prefixes(0)
    known.add(trace(), EVERY, np.array([-1, 0, 0]))
    known.drop(2)
    assert known.known is NOTHING_KNOWN
