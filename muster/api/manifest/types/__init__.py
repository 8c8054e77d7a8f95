"""Types of ``spec.types`` for each operator.

    jax               worker
    pytorch, xgboost  worker; and master, where a 0.2.2 manifest asked for a master of another size
    kuberay           Head, and Workers: a list of named worker groups
    jobset            any names, each with count x completions members

A missing count is 1, except for kuberay's Workers, where it is 0 (docs.aichor.ai; InstaDeep's count-scenarios
conformance manifests).
"""
