"""Statistics of public traces, as workloads of the catalog."""
