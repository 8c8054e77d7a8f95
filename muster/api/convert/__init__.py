"""Convert the manifests of other controllers into Experiments: one file per kind, and what they have in common."""
