"""Fitting the constants of engine epochs to measurements of serving deployments."""

__all__: list[str] = []
