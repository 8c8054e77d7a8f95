"""The roll-call page: HTML rendered on the server, one style sheet, one script, nothing from elsewhere."""
