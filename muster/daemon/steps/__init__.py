"""One step of one experiment: decide, persist the record, carry the actions out, take in their outcomes."""
