"""Tables, the server-side output of `kubectl get`: columns of built-in kinds, and printer columns of CRDs.

`jsonpath` also reads the selectable fields of CRDs.
"""
