"""The progress endpoint: takes the reports that members send of themselves."""
