"""Finds secrets in the output of programs and the messages of controllers, and takes them out."""
