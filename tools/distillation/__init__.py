"""Turns tables of measured kernel times into the small ones that ship with racktwin."""
