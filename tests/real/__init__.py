"""Muster on a real Kubernetes control plane: what happened, what Muster said, how long it took. `make real` runs it."""
