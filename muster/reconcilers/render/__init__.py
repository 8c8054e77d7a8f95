"""The rendering of a plan to Kubernetes objects, without I/O."""
