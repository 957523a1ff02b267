"""Requests over time on a deployment."""
