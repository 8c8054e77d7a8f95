"""Real nodes: kubelet, kube-proxy, containerd, runc, CNI, CoreDNS and a registry, each run in namespaces of its own."""
