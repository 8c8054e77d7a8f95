"""HTTP: parses requests, calls the store, and encodes responses and watch streams.

`request_handler` is the entry point; `handlers` handles objects, `pod_subresources` the subresources of pods.
"""
