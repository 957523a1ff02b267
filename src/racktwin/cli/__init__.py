"""The command line: one module per verb; it parses, calls and prints."""
