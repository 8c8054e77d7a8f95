"""What nodes have failed over hours and days, and which of them is suspect."""
