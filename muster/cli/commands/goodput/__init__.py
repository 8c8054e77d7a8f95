"""``muster goodput``: where the time of experiments went."""
