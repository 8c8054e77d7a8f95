"""The sentences that Muster prints: in plain words, and each of them once in a golden file."""
