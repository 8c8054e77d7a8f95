"""The verbs that delete experiments, and what they share."""
