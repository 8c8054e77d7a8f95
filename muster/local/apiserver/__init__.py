"""An API server that speaks enough of the Kubernetes API for kubectl and the Python clients to work unmodified.

`ApiServer` is all a caller needs; `server.store` has the same operations for callers in the same process.
"""

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.server import ApiServer
from muster.local.apiserver.storage.options import WriteOptions

__all__ = ["ApiError", "ApiServer", "WriteOptions"]
