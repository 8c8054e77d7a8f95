"""Observed runs: objects and pods of other controllers, which Muster watches over and never writes to."""
