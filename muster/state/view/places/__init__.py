"""Places of the programs of an epoch's ranks: the report of each, when a gang is still, and the sentence about it."""
