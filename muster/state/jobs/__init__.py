"""Jobs without a Job: what a batch/v1 Job would say of the pods of one job of the plan."""
