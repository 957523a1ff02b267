"""Watts from the chips to the meter: power chain, swings, smoothing."""
