"""Objects: create, update and delete with their rules, versions and watch histories, and the SQLite file.

`object_store` has the rules; below it, `versioned_store` takes the part of etcd.
"""
