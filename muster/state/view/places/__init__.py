"""Where the programs of an epoch's ranks stand: what each says, when a gang is still, and the sentence about it."""
