"""Who sends to whom: traffic patterns of pairs, drawn once per job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from racktwin.network.problem import Ints

Pairs = tuple[Ints, Ints]


def permutation(gpus: Ints, to: Ints, flows: int, rng: np.random.Generator) -> Pairs:
    """Every GPU sends to one other and receives from one: a random order, closed to cycles."""
    order = rng.permutation(gpus)
    while len(gpus) > 1 and (order == gpus).any():  # nobody sends to itself
        own = np.flatnonzero(order == gpus)
        other = rng.integers(0, len(gpus), len(own))
        for one, two in zip(own.tolist(), other.tolist(), strict=True):
            order[one], order[two] = order[two], order[one]
    return gpus, order


def pairs(gpus: Ints, to: Ints, flows: int, rng: np.random.Generator) -> Pairs:
    """Random pairs that send both ways at once; of an odd number one rests."""
    order = rng.permutation(gpus)[: len(gpus) // 2 * 2]
    left, right = order[::2], order[1::2]
    return np.concatenate([left, right]), np.concatenate([right, left])


def random(gpus: Ints, to: Ints, flows: int, rng: np.random.Generator) -> Pairs:
    """`flows` flows (count), each between two GPUs drawn anew; with `to`, towards those."""
    targets = to if len(to) else gpus
    source = gpus[rng.integers(0, len(gpus), flows)]
    target = targets[rng.integers(0, len(targets), flows)]
    while (same := np.flatnonzero(source == target)).size:
        target[same] = targets[rng.integers(0, len(targets), len(same))]
        source[same] = gpus[rng.integers(0, len(gpus), len(same))]
    return source, target


def incast(gpus: Ints, to: Ints, flows: int, rng: np.random.Generator) -> Pairs:
    """Every GPU sends to one of the receivers `to`, in turn."""
    senders = gpus[~np.isin(gpus, to)]
    return senders, to[np.arange(len(senders)) % len(to)]


def transfer(gpus: Ints, to: Ints, flows: int, rng: np.random.Generator) -> Pairs:
    """The first GPU sends to the first of `to`, the second to the second; the shorter repeats."""
    longest = np.arange(max(len(gpus), len(to)))
    source, target = gpus[longest % len(gpus)], to[longest % len(to)]
    return source[source != target], target[source != target]


PATTERNS: dict[str, Callable[[Ints, Ints, int, np.random.Generator], Pairs]] = {
    "permutation": permutation,
    "pairs": pairs,
    "random": random,
    "incast": incast,
    "transfer": transfer,
}
