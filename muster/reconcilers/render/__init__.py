"""Plan to Kubernetes objects. No I/O."""
