"""What a failure costs: which budget it is charged to, how long the restart waits, and what is not charged."""
