"""Queues: what a Kueue Workload admits, and what is asked of the queue."""
