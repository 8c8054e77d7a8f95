"""The processes that `muster run` and `muster local up` start and watch."""
