"""One file per verb of `muster`."""
