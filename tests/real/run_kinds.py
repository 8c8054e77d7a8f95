"""Other kinds on the ground: their definitions, as the local cluster has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.local.cluster import run_kinds_crds
from muster.state.vocabulary.subject import JOBSET, Subject
from tests.real.controllers import define
from tests.real.controllers.jobset import JOBSETS
from tests.real.namespace import WITHIN
from tests.real.site import Site

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@asynccontextmanager
async def served(here: Site, kind: Subject) -> AsyncIterator[None]:
    """The kind is served for the duration of the block; that of JobSets stays, for other situations."""
    if kind == JOBSET:
        await define(here.request, JOBSETS)
        yield
        return
    crd = next(each for each in run_kinds_crds() if each["spec"]["names"]["kind"] == kind.kind)
    await here.kubectl("apply", "--server-side", "-f", "-", body=crd)
    name = crd["metadata"]["name"]
    try:
        await here.kubectl("wait", "--for=condition=Established", f"crd/{name}", WITHIN)
        yield
    finally:
        await here.request("DELETE", f"{CRDS}/{name}")
