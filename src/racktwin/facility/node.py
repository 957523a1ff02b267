"""The power chain as a tree: what comes into each node, and where it goes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

NEAR = 1e-6  # of the power of a node


class Unbalanced(Exception):
    """Power came out of nothing, or went nowhere: a fault of the program, not of its input."""


class Node(msgspec.Struct, frozen=True):
    """`count` equal things that take `watts` W together and lose `loss` W of them."""

    name: str
    count: int
    watts: float
    loss: float = 0.0
    children: tuple[Node, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """Every node below this one with its depth (count), this one first."""
        yield depth, self
        for each in self.children:
            yield from each.walk(depth + 1)


def conserved(tree: Node) -> Node:
    """The tree, after a look at every node: in = lost + out, to 1e-6; `Unbalanced` otherwise."""
    for _, node in tree.walk():
        if node.children:
            out = node.loss + sum(each.watts for each in node.children)
            if abs(node.watts - out) > NEAR * max(node.watts, 1.0) or node.loss < 0:
                raise Unbalanced(f"{node.name}: {node.watts:.9g} W in, {out:.9g} W lost and out")
    return tree
