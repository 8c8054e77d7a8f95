"""A Kubernetes API server in this process: kubectl and the Python clients work with it unmodified.

Start an `ApiServer`; its `store` offers the same operations to code in the same process. A request passes `http/`,
which calls `storage/`; `kinds/` and `schema/` say what is served and what is valid, `patch/` changes objects, `tables/`
formats them for `kubectl get`.
"""

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.server import ApiServer
from muster.local.apiserver.storage.options import WriteOptions

__all__ = ["ApiError", "ApiServer", "WriteOptions"]
