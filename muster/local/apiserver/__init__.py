"""An API server that speaks enough of the Kubernetes API for kubectl and the Python clients to work unmodified.

`ApiServer` is all a caller needs; `server.store` has the same operations for callers in the same process.
"""

from muster.local.apiserver.http.failure import ApiError
from muster.local.apiserver.http.options import WriteOptions
from muster.local.apiserver.http.server import ApiServer

__all__ = ["ApiError", "ApiServer", "WriteOptions"]
