"""What `muster` prints: tables, trees, progress, colours."""
