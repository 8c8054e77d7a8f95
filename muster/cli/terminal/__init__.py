"""Output of `muster`: tables, trees, progress, colours."""
