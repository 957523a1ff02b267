"""Speed, measured by `python -m benchmarks`; never asserted by a test."""
