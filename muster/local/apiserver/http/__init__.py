"""HTTP: parses requests, calls the store, and encodes responses and watch streams.

`request_handler` is the entry point; `handlers` has the verbs, and `pod_subresources` what pods have beside them.
"""
