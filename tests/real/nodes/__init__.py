"""Nodes of the cluster under test: the project's own node agent, and a stand-in kubelet for pretended pods."""
