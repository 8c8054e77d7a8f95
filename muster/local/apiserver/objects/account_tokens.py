"""Tokens of service accounts that are bound to a pod: TokenRequest and TokenReview (authentication.k8s.io/v1).

A token is good for its audiences, for its life, and while its pod exists. It names its audiences, as a JSON Web Token
does. No request to this API server is accepted with one: a local cluster has one user. Tokens are kept in memory, as
the pods that have them end with the process. No ServiceAccount objects exist, so each name is one.
"""

import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

from muster.api.values.timestamps import whole_time
from muster.local.apiserver.errors import ApiError, bad_request
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.storage.stored_objects import Json

SHORTEST, LONGEST = 600, 1 << 32
"""Seconds of a life (pkg/apis/authentication/validation)."""


@dataclass(frozen=True, slots=True)
class _Token:
    namespace: str
    account: str
    pod: str
    uid: str
    audiences: tuple[str, ...]
    until: float


class AccountTokens:
    """The tokens that were issued. `clock` returns wall-clock seconds."""

    def __init__(self, store: ObjectStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._tokens: dict[str, _Token] = {}

    def issue(self, namespace: str, account: str, request: Json) -> Json:
        """Return the TokenRequest with its status. It must be bound to a pod that exists."""
        spec = request.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        bound, seconds = spec.get("boundObjectRef"), spec.get("expirationSeconds", 3600)
        if not isinstance(bound, dict) or bound.get("kind") != "Pod":
            raise bad_request("spec.boundObjectRef: Required value: the local cluster issues tokens of pods only")
        if type(seconds) is not int or not SHORTEST <= seconds <= LONGEST:
            raise bad_request(f"spec.expirationSeconds: Invalid value: may not specify less than {SHORTEST} s")
        audiences = spec.get("audiences")
        wanted = tuple(map(str, audiences)) if isinstance(audiences, list) else ()
        pod, uid = str(bound.get("name")), str(bound.get("uid"))
        if self._uid(namespace, pod) != uid:
            raise bad_request(f"spec.boundObjectRef: Invalid value: pod {pod} has another uid, or does not exist")
        now = self._clock()
        self._tokens = {text: each for text, each in self._tokens.items() if self._holds(each, now)}
        claims = json.dumps({"aud": wanted or ("local",), "exp": int(now + seconds)}).encode()
        token = f"local.{urlsafe_b64encode(claims).decode().rstrip('=')}.{secrets.token_urlsafe(32)}"
        self._tokens[token] = _Token(namespace, account, pod, uid, wanted or ("local",), now + seconds)
        return request | {"status": {"token": token, "expirationTimestamp": whole_time(now + seconds)}}

    def review(self, request: Json) -> Json:
        """Return the TokenReview with its status."""
        spec = request.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        token, wanted = self._tokens.get(str(spec.get("token"))), spec.get("audiences") or ["local"]
        audiences = [each for each in wanted if token is not None and each in token.audiences]
        if token is None or not audiences or not self._holds(token, self._clock()):
            return request | {"status": {"authenticated": False, "error": "the token is not one of this cluster"}}
        user = {
            "username": f"system:serviceaccount:{token.namespace}:{token.account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{token.namespace}", "system:authenticated"],
            "extra": {
                "authentication.kubernetes.io/pod-name": [token.pod],
                "authentication.kubernetes.io/pod-uid": [token.uid],
            },
        }
        return request | {"status": {"authenticated": True, "user": user, "audiences": audiences}}

    def _holds(self, token: _Token, now: float) -> bool:
        return now < token.until and self._uid(token.namespace, token.pod) == token.uid

    def _uid(self, namespace: str, pod: str) -> str:
        try:
            found = self._store.get(self._store.resource("v1", "pods"), namespace, pod).object()
        except ApiError:
            return ""
        return str(found["metadata"]["uid"])
