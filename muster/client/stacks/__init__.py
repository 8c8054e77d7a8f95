"""The Python stacks of all ranks at one moment, equal ones grouped: which rank does what the others do not."""
