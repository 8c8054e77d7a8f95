"""The part of etcd: stored objects, their versions, watch histories and selectors, and the SQLite file."""
