"""What became of each test, kept for those who judge a run as a whole: flakes, skips, and situations not played."""
