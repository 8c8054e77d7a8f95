"""The view of one experiment now: pods counted, the last probe result, answers that only the engine learns."""
