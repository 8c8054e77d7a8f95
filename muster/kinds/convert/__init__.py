"""Parts that the converters of several kinds share."""
