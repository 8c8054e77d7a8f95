"""Operator ``jax``, and JAXJobs."""
