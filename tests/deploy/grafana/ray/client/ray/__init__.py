"""A stand-in for the package ray, as far as the submitter of an experiment imports it."""
