"""Published measurements, the errors against them, and prediction intervals."""
