"""Turns the API server's error for a request into a refusal: a reason of its own, and what to do about it.

A refusal keeps an experiment from continuing, so it is reported on the experiment. Its origin is read from the
structured answer first (status, ``details.causes``) and then from the text, whose beginnings are fixed in the API
server's source. Texts of webhooks and policies come after such a beginning, so they cannot pass for another refusal.

Three classes
    final     the object itself is wrong, or its namespace is going: sending it again cannot help
    retried   quota, admission and rights change while the experiment waits: sent again after a pause (reported at once)
    passing   5xx, 429, no answer in time: often over within a second, so it is reported only once it has lasted

Sources of the texts: k8s.io/apiserver pkg/admission/errors.go ("is forbidden"), pkg/admission/plugin/webhook
("admission webhook … denied the request", "failed calling webhook"), plugin/policy/validating,
plugin/namespace/lifecycle; k8s.io/kubernetes plugin/pkg/admission (limitranger, serviceaccount, priority, gc);
k8s.io/apiserver pkg/admission/plugin/resourcequota; k8s.io/pod-security-admission.
"""

import re
from dataclasses import dataclass

from muster.api.errors import ApiError, Forbidden, Invalid, Throttled, Unreachable
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.refusals import FORBIDDEN, REFUSED, REJECTED, of_kind

SAID = 600
"""Most characters of the API server's message that are kept: an admission webhook can send any number."""

NAMESPACE_TERMINATING = "NamespaceTerminating"
"""The cause in the details of a 403 (core/v1 NamespaceTerminatingCause)."""

_READ = re.compile(r"GET (?:/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?")
_KINDS = {
    "pods": "Pod",
    "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "workloads": "Workload",
    "workloadpriorityclasses": "WorkloadPriorityClass",
    "resourceflavors": "ResourceFlavor",
}
_FORBIDDEN = re.compile(r'^[\w.]+(?: "[^"]*")? is forbidden: \[?')


@dataclass(frozen=True, slots=True)
class _Row:
    reason: str
    text: str
    """The regular expression of its beginning."""
    advice: str
    final: bool = False
    passing: bool = False


_ROWS = (
    _Row(
        "WebhookDenied",
        r'admission webhook "[^"]*" denied the request',
        "Change the experiment so that this webhook admits it, or change the webhook's rules.",
    ),
    _Row(
        "WebhookFailed",
        r"(?:Internal error occurred: )?failed (?:calling|to call) (?:the )?(?:admission )?webhook",
        "The admission webhook does not answer: restore its Service, or ask its owner to remove its configuration.",
        passing=True,
    ),
    _Row(
        "PolicyDenied",
        r"(?:Validating|Mutating)AdmissionPolicy '|image policy webhook backend denied",
        "Change the experiment so that this policy admits it, or change the policy.",
    ),
    _Row(
        "PodSecurityViolated",
        r'violates PodSecurity "',
        "Set the fields it names under spec.template.spec (securityContext), or lower the namespace's "
        "pod-security.kubernetes.io/enforce label.",
    ),
    _Row(
        "QuotaExceeded",
        r"exceeded quota: |failed quota: |status unknown for quota: |insufficient quota to ",
        "Free or raise the ResourceQuota that it names.",
    ),
    _Row(
        "LimitRangeViolated",
        r"(?:minimum|maximum) \S+ (?:usage|limit|request) per |\S+ max limit to request ratio per ",
        "Change the resources of the experiment, or the LimitRange of the namespace.",
    ),
    _Row(
        "PriorityClassMissing",
        r"no PriorityClass with name ",
        "Create that PriorityClass, or name another in spec.template.spec.priorityClassName.",
    ),
    _Row(
        "ServiceAccountMissing",
        r"error looking up service account ",
        "Create that ServiceAccount in the namespace, or name another in spec.template.spec.serviceAccountName.",
    ),
    _Row(
        "RuntimeClassMissing",
        r"pod rejected: RuntimeClass ",
        "Create that RuntimeClass, or name another in spec.template.spec.runtimeClassName.",
    ),
    _Row(
        "RightsMissing",
        r'User "[^"]*" cannot |cannot set blockOwnerDeletion ',
        "Give Muster's service account that right: deploy/ has the roles it needs.",
    ),
    _Row(
        "NamespaceGone",
        r'unable to create new content in namespace |namespaces? "[^"]*" not found',
        "The namespace accepts no new objects.",
        final=True,
    ),
)


_SEE_LOG = "See the log of the API server."


def refusal_of(error: ApiError, plan: Plan, verb: str = "", kind: str = "", name: str = "") -> Refusal | None:
    """Return the refusal for the error of a request, or None if only the next attempt can show it.

    ``verb`` (``create``, ``stop``), ``kind`` and ``name`` are those of a write; a read is named by its path. None: the
    connection broke, or another write came first.
    """
    place = f"{plan.namespace}/"
    if read := _READ.fullmatch(error.request):
        namespace, plural, name = read.groups(default="")
        verb, place = "get" if name else "list", place if namespace else ""
        kind = {**_KINDS, plan.subject.plural: plan.subject.kind}.get(plural, plural)
    row = _row_of(error, verb, kind)
    if row is None or not verb:
        return None
    what = f"{verb} {kind} {place}{name}" if name else f"{verb} {kind}s in namespace {plan.namespace}"
    who = "Muster could not" if row.passing else "The API server refuses to"  # without an answer it may have done it
    again = "Correct that and start the experiment again." if row.final else "Muster tries again."
    return Refusal(
        row.reason,
        f"{who} {what}: {error.message[:SAID]}. {row.advice} {again}",
        final=row.final,
        passing=row.passing,
        retry_after=error.retry_after or 0.0,
    )


def refusal_or_raise(error: ApiError, plan: Plan, verb: str = "", kind: str = "", name: str = "") -> Refusal:
    """Return that refusal. Raises the error if only the next attempt can show one."""
    if refusal := refusal_of(error, plan, verb, kind, name):
        return refusal
    raise error


def _row_of(error: ApiError, verb: str, kind: str) -> _Row | None:
    if NAMESPACE_TERMINATING in error.causes:
        return _ROWS[-1]
    text = _FORBIDDEN.sub("", error.message, count=1)
    if row := next((row for row in _ROWS if re.match(row.text, text)), None):
        return row
    match error:
        case Forbidden(status=401):
            return _Row("CredentialsRejected", "", "Renew the credentials of musterd.")
        case Forbidden():
            advice = "Its message names what forbids it: change that, or the experiment."
            return _Row(of_kind(kind, FORBIDDEN), "", advice)
        case Invalid() if verb == "create":
            return _Row(of_kind(kind, REJECTED), "", "The object itself is not valid.", final=True)
        case Throttled():
            return _Row("ApiServerBusy", "", "The API server is overloaded.", passing=True)
        case Unreachable(reason="Timeout"):
            reads = verb in ("get", "list")  # no webhook admits those
            advice = _SEE_LOG if reads else "An admission webhook that hangs is the usual cause."
            return _Row("ApiServerSilent", "", advice, passing=True)
        case _ if error.status >= 500:
            return _Row("ApiServerErrors", "", _SEE_LOG, passing=True)
        case _ if 400 <= error.status < 500 and error.status not in (404, 409, 410):
            return _Row(of_kind(kind, REFUSED), "", "Its message has the reason.")
    return None
