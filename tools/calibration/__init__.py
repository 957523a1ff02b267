"""Fitting the constants of engine epochs to published serving measurements."""
