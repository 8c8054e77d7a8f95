"""From an Experiment to its plan, by the declaration of its operator."""
