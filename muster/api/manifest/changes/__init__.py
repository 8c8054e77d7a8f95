"""Changes of the command line to a manifest before it is read: values (``--set``), sizes and missing objects."""
