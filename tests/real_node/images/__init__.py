"""The images of the run: made on this machine, pushed to its registry, pulled from there."""
