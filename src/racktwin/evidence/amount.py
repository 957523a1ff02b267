"""A number of things in words."""


def amount(count: int, thing: str) -> str:
    """`count` (1) things: '1 GPU', '2,381 rows'; `thing`: its name for one, plural in s."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
