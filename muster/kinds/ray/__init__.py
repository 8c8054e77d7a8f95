"""Operator ``kuberay``, and RayClusters and RayJobs."""
