"""Tables, the server-side output of `kubectl get`: columns of pods, nodes and events, and printer columns of CRDs."""
