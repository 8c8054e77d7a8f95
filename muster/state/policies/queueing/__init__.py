"""Queues: the admission of a Kueue Workload, and what is asked of the queue."""
