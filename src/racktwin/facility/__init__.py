"""Watts from the chips to the meter and out into the weather: chain, swings, cooling, cost."""
