"""What is known of a gang by the flight recorder of its processes."""
