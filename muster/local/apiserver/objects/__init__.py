"""Objects: create, update, patch and delete with their rules, the garbage collector, and tokens of accounts.

`object_store` is the entry point; what it writes goes to `muster.local.apiserver.storage`.
"""
