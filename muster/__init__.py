"""Muster runs distributed ML experiments on Kubernetes and reports which ranks are missing.

Programs import ``muster.client`` (the SDK), ``muster.api`` (manifests, names, errors) and ``muster.jax`` (training
programs). The other packages belong to the commands ``muster`` and ``musterd``.
"""

__version__ = "0.1.0"
