"""Pages and charts of how far predictions lie from published measurements."""
