"""What is written to the Workload of Kueue by which an experiment waits for quota."""
