"""Diagnosis: why a member is not there or not at work: one cause of a closed list, its evidence, and the next step."""
