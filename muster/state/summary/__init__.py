"""What people see of an experiment: conditions, the sentence, the story."""
