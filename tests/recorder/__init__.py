"""Hangs of real PyTorch processes that report nothing: whether the rank that the others wait for is named."""
