"""Facts of one experiment, gathered for a reader: the explanation, the roll call, and the bundle."""
