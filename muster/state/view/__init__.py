"""What is seen of one experiment now: pods counted, the last probe result, what only the engine learns."""
