"""Reads the roll of a JAX coordination service from outside the job, with no effect on the job."""
