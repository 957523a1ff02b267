"""Facts as YAML, one file per thing, every number with its source."""
