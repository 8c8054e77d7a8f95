"""The diagnosis against induced situations, and against healthy hours."""
