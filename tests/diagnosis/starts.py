"""Situations in which a member does not start."""

from muster.state.facts.causes.table import Causes as Cause
from tests.diagnosis.gang import SIZE
from tests.diagnosis.inducing import PULL, Situation, back_off, init, left_over, not_created, one, started, unsandboxed

REFUSED = tuple(range(SIZE))
NODES, REFUSALS = "real/situations/test_nodes.py::", "real/situations/test_refusals.py::"
REAL_NODE = "real_node/situations/test_cannot_start.py::"

STARTS = (
    Situation(
        "a ResourceQuota is used up",
        "jax",
        lambda gang: gang.refuse("QuotaExceeded", 'pods "x" is forbidden: exceeded quota: team'),
        Cause.QUOTA_EXCEEDED,
        REFUSED,
        also=REFUSALS + "test_a_quota_is_said_and_its_raise_lets_the_gang_in",
    ),
    Situation(
        "a webhook denies pods",
        "pytorch",
        lambda gang: gang.refuse("WebhookDenied", 'admission webhook "a.b" denied the request: no'),
        Cause.ADMISSION_DENIED,
        REFUSED,
        also=REFUSALS + "test_a_webhook_that_denies_is_said",
    ),
    Situation(
        "a webhook is down",
        "jobset",
        lambda gang: gang.refuse("WebhookFailed", 'failed calling webhook "a.b": connection refused'),
        Cause.ADMISSION_DENIED,
        REFUSED,
        also=REFUSALS + "test_a_webhook_that_cannot_be_called_is_stuck",
    ),
    Situation(
        "an admission policy denies pods",
        "kuberay",
        lambda gang: gang.refuse("PolicyDenied", "ValidatingAdmissionPolicy 'p' denied request"),
        Cause.ADMISSION_DENIED,
        (*REFUSED, 4),
        also=REFUSALS + "test_an_admission_policy_is_said_and_without_it_the_gang_starts",
    ),
    Situation(
        "Pod Security forbids the pod",
        "jax",
        lambda gang: gang.refuse("PodSecurityViolated", 'violates PodSecurity "restricted:latest"'),
        Cause.ADMISSION_DENIED,
        REFUSED,
        also=REFUSALS + "test_pod_security_restricted_is_said",
    ),
    Situation(
        "Muster may not create pods",
        "jax",
        lambda gang: gang.refuse("RightsMissing", 'User "musterd" cannot create resource "pods"'),
        Cause.RIGHTS_MISSING,
        REFUSED,
    ),
    Situation(
        "another object has the name of the Service",
        "jax",
        lambda gang: gang.refuse("NameTaken", "Service team/train exists"),
        Cause.NAME_TAKEN,
        REFUSED,
        also=REFUSALS + "test_a_service_of_somebody_elses_is_explained",
    ),
    Situation(
        "a PriorityClass does not exist",
        "jobset",
        lambda gang: gang.refuse("PriorityClassMissing", "no PriorityClass with name high was found"),
        Cause.REFUSED,
        REFUSED,
        also=REFUSALS + "test_a_missing_priority_class_is_said",
    ),
    Situation("a pod is not created yet", "jax", not_created, Cause.NOT_CREATED, (3,), first=False),
    Situation(
        "the gang waits for pods of an older epoch",
        "jax",
        left_over,
        Cause.HELD_BACK,
        REFUSED,
        also="daemon/test_deletion.py",
    ),
    Situation("the gang waits for its back-off", "pytorch", back_off, Cause.HELD_BACK, REFUSED),
    Situation(
        "a scheduling gate is on a pod",
        "jobset",
        lambda gang: gang.no_node(
            2, "SchedulingGated", "blocked", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
        ),
        Cause.QUEUED,
        (2,),
        first=False,
        also="daemon/test_obstacles_are_said.py::test_a_queued_gang_is_not_restarted_by_its_clocks",
    ),
    Situation(
        "no node fits a member",
        "jax",
        one(lambda gang: gang.no_node(2, "Unschedulable", "0/8 nodes are available: 8 Insufficient nvidia.com/gpu")),
        Cause.UNSCHEDULABLE,
        (2,),
        also=NODES + "test_an_unschedulable_member_is_said_in_the_schedulers_words",
    ),
    Situation(
        "no node fits a Ray worker",
        "kuberay",
        one(lambda gang: gang.no_node(2, "Unschedulable", "0/3 nodes are available")),
        Cause.UNSCHEDULABLE,
        (2,),
    ),
    Situation(
        "the scheduler has not looked at a pod",
        "xgboost",
        lambda gang: gang.no_node(2, "", ""),
        Cause.SCHEDULING,
        (2,),
        first=False,
    ),
    Situation(
        "a typo in the image (findings 15)",
        "jax",
        one(lambda gang: gang.wait(2, "ImagePullBackOff", PULL)),
        Cause.IMAGE_PULL,
        (2,),
        also=NODES + "test_a_member_that_does_not_start_is_stuck",
    ),
    Situation(
        "the image of a Ray worker cannot be pulled",
        "kuberay",
        one(lambda gang: gang.wait(3, "ErrImagePull", PULL), missing=(3,)),
        Cause.IMAGE_PULL,
        (3,),
    ),
    Situation(
        "an image name is not valid",
        "jobset",
        lambda gang: gang.wait(1, "InvalidImageName", "couldn't parse image name"),
        Cause.IMAGE_PULL,
        (1,),
    ),
    Situation(
        "a Secret is missing (findings 15)",
        "pytorch",
        lambda gang: gang.wait(2, "CreateContainerConfigError", 'secret "token" not found'),
        Cause.CONTAINER_CANNOT_START,
        (2,),
        also=NODES + "test_a_member_that_does_not_start_is_stuck",
    ),
    Situation(
        "the command does not exist",
        "jobset",
        lambda gang: gang.wait(0, "RunContainerError", 'exec: "pyhton": not found'),
        Cause.CONTAINER_CANNOT_START,
        (0,),
    ),
    Situation(
        "an init container crash-loops",
        "jax",
        one(init("fetch", {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}})),
        Cause.INIT_CONTAINER_FAILS,
        (2,),
        also=REAL_NODE + "test_a_start_that_fails_is_charged_to_the_experiment",
    ),
    Situation(
        "the image of an init container cannot be pulled",
        "jobset",
        init("fetch", {"waiting": {"reason": "ImagePullBackOff", "message": PULL}}),
        Cause.IMAGE_PULL,
        (2,),
        also=REAL_NODE + "test_a_member_that_cannot_start_is_said_in_the_kubelets_words",
    ),
    Situation(
        "an init container waits for the head of Ray",
        "kuberay",
        one(init("wait-gcs-ready", {"running": {"startedAt": "2027-01-15T08:00:00Z"}})),
        Cause.INIT_CONTAINER,
        (2,),
    ),
    Situation(
        "a native sidecar cannot start",
        "jax",
        one(
            init(
                "proxy",
                {"waiting": {"reason": "CrashLoopBackOff"}},
                spec={"initContainers": [{"name": "proxy", "restartPolicy": "Always"}]},
            )
        ),
        Cause.INIT_CONTAINER_FAILS,
        (2,),
    ),
    Situation(
        "an injected container fails beside the program",
        "jobset",
        started(
            lambda gang: gang.start(
                2, ready=False, others=({"name": "istio-proxy", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},)
            )
        ),
        Cause.SIDECAR_FAILS,
        (2,),
    ),
    Situation(
        "a container runs on beside a program that has ended",
        "jobset",
        started(
            lambda gang: gang.report(
                2,
                {"terminated": {"exitCode": 0, "reason": "Completed"}},
                phase="Running",
                spec={"restartPolicy": "OnFailure"},
                conditions={"Ready": ("False", "", "")},
                others=({"name": "istio-proxy", "state": {"running": {"startedAt": "2027-01-15T08:00:00Z"}}},),
            )
        ),
        Cause.CONTAINER_RUNS_ON,
        (2,),
    ),
    Situation("a volume cannot be mounted", "jax", one(unsandboxed), Cause.SANDBOX, (2,)),
    Situation(
        "a large image is being pulled",
        "jax",
        one(lambda gang: gang.wait(2, "ContainerCreating")),
        Cause.STARTING,
        (2,),
    ),
)
"""In the order of the start of a gang."""
