"""Parts that the plans of several kinds share."""
