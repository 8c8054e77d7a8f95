"""``muster goodput`` and ``muster usage``: where the time of experiments went, and that of accelerators."""
