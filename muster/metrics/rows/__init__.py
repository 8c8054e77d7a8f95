"""The rows of the catalogue: what one is, and the rows themselves, a file for each subject."""
