"""The control plane under test: etcd, API server, controller manager and scheduler, as processes on loopback."""
