"""The policies that a spec states: restarts, failure rules, gates, clocks, and which fields may be edited."""
