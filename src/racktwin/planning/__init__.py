"""Search over deployments, objectives and cost."""
