"""Plans: one line of text each, the families of plans, and the boundaries at which faults are injected."""
