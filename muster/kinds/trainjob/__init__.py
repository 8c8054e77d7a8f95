"""TrainJobs."""
