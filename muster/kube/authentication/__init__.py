"""How a process finds an API server and proves who it is: addresses, certificates, tokens and kubeconfig files."""
