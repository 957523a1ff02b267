"""One step of a deployment: memory, time and energy."""
