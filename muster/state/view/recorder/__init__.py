"""The knowledge about a gang by the flight recorder of its processes."""
