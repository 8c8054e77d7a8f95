"""The decision: observe, judge, act."""
