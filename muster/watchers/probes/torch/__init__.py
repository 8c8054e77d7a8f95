"""Reads from PyTorch's TCPStore, from outside the job, which processes have joined."""
