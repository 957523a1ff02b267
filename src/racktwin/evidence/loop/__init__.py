"""A benchmark's closed loop, request by request: so many clients, each with one after another."""

__all__: list[str] = []
