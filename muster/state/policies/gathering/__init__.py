"""The obstacles of a gang that is not complete: blocked, late and silent members."""
