"""The CRD and the reference page, generated from the models."""
