"""What is known of each run, and how watched runs follow from their objects and pods."""
