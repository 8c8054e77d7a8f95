"""A Kubernetes API server in this process, as far as Muster, kubectl and clients that send JSON need it.

Start an `ApiServer`; its `store` offers the same operations to code in the same process. A request passes `http/`,
`objects/` and `storage/`; `kinds/` and `schema` define what is served and what is valid.
"""

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.objects.write_preparation import WriteOptions
from muster.local.apiserver.server import ApiServer

__all__ = ["ApiError", "ApiServer", "WriteOptions"]
