"""The words of a decision: plan, record, rules, phases, actions, and the small records of pods that watchers make."""
