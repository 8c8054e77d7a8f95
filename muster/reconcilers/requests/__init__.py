"""Requests to the API server: sent in slots, what a refusal of one means, and whether an object found is our own."""
