"""The decision: plan, record and view in, record and actions out. No I/O and no clock."""
