"""The vocabulary: manifests, Experiments, names, errors. No I/O."""
