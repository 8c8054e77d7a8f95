"""Finds secrets in what programs and controllers say, and takes them out."""
