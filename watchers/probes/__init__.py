"""Probes: read-only questions to the coordinators of experiments."""

import os

# gRPC's C core prints what a peer sends with GOAWAY to standard error, which is our log: a peer is not to write there.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
