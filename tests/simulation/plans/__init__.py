"""Plans: one line of text each, the families of plans, and which plans are equivalent to others."""
