"""The view of people on an experiment: conditions, the sentence, the story."""
