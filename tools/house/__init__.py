"""The rules of the house as checks: each takes the root of the tree and returns violations."""
