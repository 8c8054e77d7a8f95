"""Access to an API server and the identity of a process: addresses, certificates, tokens and kubeconfig files."""
