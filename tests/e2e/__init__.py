"""The whole system as real processes on the local cluster."""
