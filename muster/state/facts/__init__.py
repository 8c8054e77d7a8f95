"""Facts: the causes of missing members and of failures, hangs, and closed gates. Nothing is decided."""
