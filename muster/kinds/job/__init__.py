"""Jobs (batch/v1)."""
