"""The scheduler of the one node.

It checks resource requests, node selector and node affinity, and writes kube-scheduler's messages.
"""
