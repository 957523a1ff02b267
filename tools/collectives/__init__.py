"""Fits of collectives: read tables, fit curves, write the catalog and the page of errors."""
