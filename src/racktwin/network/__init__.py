"""Bytes between chips: collectives and point-to-point."""
