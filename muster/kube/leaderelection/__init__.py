"""Leader election by a Lease, on a monotonic clock."""
