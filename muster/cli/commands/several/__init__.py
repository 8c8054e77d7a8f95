"""Commands about several experiments, also of several clusters."""
