"""What one forward pass computes: architecture, layout, parameters, cache."""
