"""A fleet at hours of work: independent troubles, and masses of runs that fail of one thing."""
