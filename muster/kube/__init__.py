"""The Kubernetes client: transport, credentials, list-watch, work queue, leader election."""
