"""The entries of all runs, and how watched runs follow from their objects and pods."""
