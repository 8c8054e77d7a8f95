"""A Kubernetes cluster in one process, for laptops, demos and tests: an API server, and a node that runs processes.

`cluster` starts both. `apiserver/` and `node/` share nothing but the Kubernetes API and the logs of pods.
"""
