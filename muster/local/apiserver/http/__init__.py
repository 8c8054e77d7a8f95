"""HTTP: parses requests, calls the store, and encodes responses and watch streams.

`request_handler` is the entry point; one module handles reads, one writes, one the subresources of pods.
"""
