"""One file per rule of the decision."""
