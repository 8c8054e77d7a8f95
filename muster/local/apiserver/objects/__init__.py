"""Objects: create, update, patch and delete with their rules, and the garbage collector.

`object_store` is the entry point; what it writes goes to `muster.local.apiserver.storage`.
"""
