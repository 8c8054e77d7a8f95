"""Parts that the kinds of Kubeflow's training operator (kubeflow.org/v1) share."""
