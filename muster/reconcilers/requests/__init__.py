"""Requests to the API server: their slots, the meaning of a refusal, and the recognition of our own objects."""
