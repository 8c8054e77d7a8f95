"""The end, the suspension or the deletion of an experiment, and what becomes of its pods and its object."""
