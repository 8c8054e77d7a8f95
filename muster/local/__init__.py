"""The embedded cluster: an API server and a node whose pods are processes of this machine."""
