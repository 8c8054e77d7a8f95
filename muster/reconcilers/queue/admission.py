"""ReadAdmission: what the API server says of an admission before the first pod of an epoch is created.

The cache may be late, and a gang that is launched on an admission that was taken back runs beside the one that has the
quota now. The same request brings the assigned flavors, whose labels and tolerations the pods need.
"""

import msgspec

from muster.api.errors import ApiError, NotFound
from muster.kube.metadata import read
from muster.kube.paths import custom
from muster.reconcilers.render.workload import API_VERSION
from muster.reconcilers.requests.batch import Calls
from muster.reconcilers.requests.refusals import refusal_of
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import ReadAdmission
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.workload import Placement, PodSetPlacement, Toleration


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str


class _Assignment(msgspec.Struct, frozen=True, gc=False):
    name: str
    flavors: dict[str, str] | None = None


class _Admission(msgspec.Struct, frozen=True, gc=False):
    assignments: tuple[_Assignment, ...] | None = msgspec.field(name="podSetAssignments", default=None)


class _Update(msgspec.Struct, frozen=True, gc=False):
    name: str
    node_selector: dict[str, str] | None = msgspec.field(name="nodeSelector", default=None)
    tolerations: tuple[Toleration, ...] | None = None


class _Check(msgspec.Struct, frozen=True, gc=False):
    updates: tuple[_Update, ...] | None = msgspec.field(name="podSetUpdates", default=None)


class _Status(msgspec.Struct, frozen=True, gc=False):
    conditions: tuple[_Condition, ...] | None = None
    admission: _Admission | None = None
    checks: tuple[_Check, ...] | None = msgspec.field(name="admissionChecks", default=None)


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""
    deletion_timestamp: str | None = msgspec.field(name="deletionTimestamp", default=None)


class _Spec(msgspec.Struct, frozen=True, gc=False):
    active: bool | None = None


class _Workload(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    def admitted(self, uid: str) -> bool:
        """This is the Workload of that uid, and its pods may run."""
        true = {each.type for each in self.status.conditions or () if each.status == "True"}
        usable = self.spec.active is not False and self.metadata.deletion_timestamp is None
        return self.metadata.uid == uid and usable and "Admitted" in true and not true & {"Evicted", "Finished"}


class _FlavorSpec(msgspec.Struct, frozen=True, gc=False):
    node_labels: dict[str, str] | None = msgspec.field(name="nodeLabels", default=None)
    tolerations: tuple[Toleration, ...] | None = None


class _Flavor(msgspec.Struct, frozen=True, gc=False):
    spec: _FlavorSpec = _FlavorSpec()


async def read_admission(calls: Calls, action: ReadAdmission, plan: Plan) -> Outcome:
    """The placement of the epoch's pods, if the Workload is admitted; else the caches will show why it is not."""
    path = custom(API_VERSION, plan.namespace, "workloads", action.workload.name)
    try:
        workload = read(await calls.do("GET", path), _Workload, f"GET {path}")
    except NotFound:
        return Outcome(ahead=True)
    except ApiError as error:
        if refusal := refusal_of(error, "get", "Workload", action.workload.name, plan):
            return Outcome(refusal=refusal)
        raise
    if not workload.admitted(action.workload.uid):
        return Outcome(ahead=True)
    assignments = (workload.status.admission.assignments or ()) if workload.status.admission else ()
    flavors: dict[str, _Flavor] = {}
    for name in dict.fromkeys(flavor for each in assignments for flavor in (each.flavors or {}).values()):
        found = await _flavor(calls, plan, name)
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
        flavors[name] = found
    updates = [update for check in workload.status.checks or () for update in check.updates or ()]
    groups = tuple(_placement(each, flavors, updates) for each in assignments)
    return Outcome(placement=Placement(action.epoch, action.workload.uid, groups))


async def _flavor(calls: Calls, plan: Plan, name: str) -> _Flavor | Refusal:
    path = f"/apis/{API_VERSION}/resourceflavors/{name}"
    try:
        return read(await calls.do("GET", path), _Flavor, f"GET {path}")
    except NotFound:
        return Refusal(
            "FlavorMissing",
            f"The Workload was admitted with ResourceFlavor {name!r}, and the cluster has none of that name. Create it "
            "again, or change the ClusterQueue. Muster tries again.",
            final=False,
        )
    except ApiError as error:
        if refusal := refusal_of(error, "get", "ResourceFlavor", name, plan):
            return refusal
        raise


def _placement(assignment: _Assignment, flavors: dict[str, _Flavor], updates: list[_Update]) -> PodSetPlacement:
    """What one podSet gets: of its flavors, and of the admission checks (status.admissionChecks[].podSetUpdates)."""
    selector: dict[str, str] = {}
    tolerations: dict[Toleration, None] = {}
    for name in dict.fromkeys((assignment.flavors or {}).values()):
        selector |= flavors[name].spec.node_labels or {}
        tolerations |= dict.fromkeys(flavors[name].spec.tolerations or ())
    for update in updates:
        if update.name == assignment.name:
            selector |= update.node_selector or {}
            tolerations |= dict.fromkeys(update.tolerations or ())
    return PodSetPlacement(assignment.name, tuple(sorted(selector.items())), tuple(tolerations))
