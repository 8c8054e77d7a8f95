"""Diagnosis of a member that is missing or not at work: one cause of a closed list, its evidence, and the next step."""
