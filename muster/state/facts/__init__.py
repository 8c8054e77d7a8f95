"""What is so: why a member is not there, what a failure came of, what hangs, which gate is shut. Nothing is decided."""
