"""The API server: whether it answers, is on time and has the kind Experiment; and what all checks share.

``Asker`` sends the requests of a check, and ``Check`` is its result.
"""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

from muster.api.errors import Forbidden, NotFound
from muster.api.names import API_VERSION, GROUP, PLURAL, VERSION
from muster.api.schema.crd import custom_resource_definition
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.kube.resources import custom, read
from muster.kube.transport import Answer, Transport
from muster.kube.unstructured import Json, items, mapping, text

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. ``next`` is the next step; it is empty if nothing needs to be done."""

    area: str
    check: str
    state: State
    found: str
    next: str = ""


AREA = "cluster"
PATIENCE = 5.0
"""Seconds for each request."""
SKEW = 5.0
LARGE_SKEW = 60.0
"""Seconds of difference between the clocks that are a warning, and a failure. The header Date has whole seconds."""
APPLY_CRD = "kubectl apply -f deploy/crds/experiments.muster.dev.yaml (or install the chart)"
PAGE = 500
"""Objects of a collection that are looked at."""
SHOWN = 200
"""Characters of a foreign text in a line."""


class Asker:
    """Requests with a short time limit. ``now`` is the API server's time as far as it is known."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.skew = 0.0
        """Seconds that this machine's clock is ahead of the API server's."""

    @property
    def now(self) -> float:
        """Return wall seconds by the API server's clock."""
        return time.time() - self.skew

    async def answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return one answer. Raises ``ApiError``."""
        data = None if body is None else msgspec.json.encode(body)
        return await self._transport.request(method, path, body=data, params=params, timeout=PATIENCE)

    async def get(self, path: str) -> Json:
        """Return one object. Raises ``ApiError``."""
        return read(await self.answer("GET", path), Json, f"GET {path}")

    async def list(self, path: str, selector: str = "") -> list[Json]:
        """Return the first page of a collection. Raises ``ApiError``."""
        params = {"limit": str(PAGE)} | ({"labelSelector": selector} if selector else {})
        return items(read(await self.answer("GET", path, params=params), Json, f"GET {path}").get("items"))

    async def served(self, api_version: str) -> Sequence[str] | None:
        """Return the plurals of the kinds in that version of an API; None if it is not served. Raises ``ApiError``."""
        try:
            found = await self.get(f"/apis/{api_version}")
        except NotFound:
            return None
        return [text(each, "name") for each in items(found.get("resources"))]

    async def denied(
        self, verbs: Sequence[str], group: str, resource: str, namespace: str, user: str = ""
    ) -> Sequence[str]:
        """Return those of the verbs that a service account, or the caller, may not use. Raises ``ApiError``."""
        resource, _, subresource = resource.partition("/")
        asked = {"namespace": namespace, "group": group, "resource": resource, "subresource": subresource}
        return [verb for verb in verbs if not await self._allowed({**asked, "verb": verb}, user)]

    async def _allowed(self, attributes: Mapping[str, str], user: str) -> bool:
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        spec: dict[str, Any] = {"resourceAttributes": attributes}
        if user:
            path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            accounts = "system:serviceaccounts"
            spec |= {"user": user, "groups": [accounts, f"{accounts}:{user.split(':')[2]}", "system:authenticated"]}
        kind = "SubjectAccessReview" if user else "SelfSubjectAccessReview"
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        review = read(await self.answer("POST", path, body), Json, f"POST {path}")
        return mapping(review.get("status")).get("allowed") is True


async def reach(asker: Asker) -> AsyncGenerator[Check, None]:
    """Check that the API server answers, and how far the clocks are apart. Raises ``ApiError`` without an answer."""
    before = time.time()
    answer = await asker.answer("GET", "/version")
    after = time.time()
    version = text(read(answer, Json, "GET /version"), "gitVersion")
    yield Check(AREA, "API server", "ok", f"Kubernetes {version}, answered in {(after - before) * 1000:.0f} ms")
    yield _clocks(asker, answer.date, before, after)


def _clocks(asker: Asker, date: str, before: float, after: float) -> Check:
    check = "clocks"
    try:
        server = parsedate_to_datetime(date).timestamp() + 0.5  # the header has whole seconds
    except ValueError:
        return Check(AREA, check, "warning", "the API server sends no Date, so its clock cannot be compared")
    asker.skew = (before + after) / 2 - server
    apart = abs(asker.skew)
    which = "ahead of" if asker.skew > 0 else "behind"
    if apart <= SKEW:
        return Check(AREA, check, "ok", f"this machine and the API server agree within {max(1.0, apart):.0f} s")
    what = f"this machine is {age(apart)} {which} the API server"
    remedy = "set both clocks by NTP: ages, --older-than and tokens depend on them"
    return Check(AREA, check, "warning" if apart <= LARGE_SKEW else "failed", what, remedy)


async def definition(asker: Asker) -> AsyncGenerator[Check, None]:
    """Check that the CustomResourceDefinition exists, is served, and is that of this version."""
    yield await _definition(asker)


async def _definition(asker: Asker) -> Check:
    check = "CRD"
    name = f"{PLURAL}.{GROUP}"
    try:
        found = await asker.get(custom("apiextensions.k8s.io/v1", None, "customresourcedefinitions", name))
    except NotFound:
        return Check(AREA, check, "failed", f"{name} is not installed", APPLY_CRD)
    except Forbidden:
        return await _served(asker)
    conditions = items(mapping(found.get("status")).get("conditions"))
    if not any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions):
        why = next((text(c, "message") for c in conditions if c.get("status") == "False"), "")
        return Check(AREA, check, "failed", printable(f"{name} is not established: {why}", SHOWN), APPLY_CRD)
    served = [v for v in items(mapping(found.get("spec")).get("versions")) if v.get("served")]
    mine = next((v for v in served if v.get("name") == VERSION), None)
    if mine is None:
        names = ", ".join(printable(text(v, "name")) for v in served) or "none"
        return Check(AREA, check, "failed", f"{VERSION} is not served, but {names}", APPLY_CRD)
    if mine.get("schema") != custom_resource_definition()["spec"]["versions"][0]["schema"]:
        what = f"{VERSION} is served; its schema is that of another version of Muster"
        return Check(AREA, check, "warning", what, f"update it to that of the newest musterd: {APPLY_CRD}")
    return Check(AREA, check, "ok", f"{VERSION} is served, with the schema of this version of Muster")


async def _served(asker: Asker) -> Check:
    """Return the finding if the right to read the definition is missing: whether the kind is served."""
    found = await asker.served(API_VERSION)
    if found is None:
        return Check(AREA, "CRD", "failed", f"{API_VERSION} is not served", APPLY_CRD)
    if PLURAL not in found:
        return Check(AREA, "CRD", "failed", f"{PLURAL} are not served in {API_VERSION}", APPLY_CRD)
    return Check(AREA, "CRD", "ok", f"{VERSION} is served (you may not read the definition itself)")
