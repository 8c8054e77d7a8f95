"""The alerts about musterd: without it the alerts about experiments have no data."""

from deploy.prometheus.held import KEEPS_ALL_BACK
from deploy.prometheus.row import Alert, Severity, Threshold

STANDS_BY = "on (job, instance) max by (job, instance) (muster_leader) == 0"
WATCHES = 'max by (job, namespace, instance, resource) (muster_watch_staleness_seconds{resource!="nodes"})'
STALE = (
    "The watch of {{ $labels.resource }} has heard nothing for {{ $value | humanizeDuration }}"
    " ({{ $labels.instance }})."
)
TOO_OLD = Threshold("seconds", 120, "Seconds without a sign of the API server that are too many.")

DAEMON = (
    Alert(
        "MusterDaemonDown",
        """absent(muster_build_info{job="@job"})@known
or
  group by (job) (last_over_time(muster_build_info{job="@job"}[@seen]))
unless
  group by (job) (muster_build_info{job="@job"})""",
        Severity.CRITICAL,
        "No musterd of job {{ $labels.job }} is scraped.",
        "No alert about a run can begin. If none runs, no experiment is started, restarted or ended, and gangs that"
        " run continue; if only the scrape fails (a token, a policy, the name of the job), they are looked after.",
        hold="1m",
        thresholds=(
            Threshold(
                "seen",
                "1d",
                "A cluster of many is missed for so long after its last scrape; one of prometheusRule.clusters always.",
            ),
        ),
        placed=False,
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        "MusterScrapesFail",
        'avg by (job) (avg_over_time(up{job="@job"}[@window])) < @share',
        Severity.WARNING,
        "Of the scrapes of musterd, job {{ $labels.job }}, {{ $value | humanizePercentage }} have succeeded.",
        "musterd ends and starts again and again, or answers too late. Alerts come late, and while none runs no"
        " experiment is started, restarted or ended.",
        hold="1m",
        thresholds=(
            Threshold("window", "10m", "The window."),
            Threshold("share", 0.6, "Share of scrapes that must succeed."),
        ),
        placed=False,
    ),
    Alert(
        "MusterReplicaMissing",
        'count by (job) (group by (job, instance) (muster_build_info{job="@job"})) < @replicas',
        Severity.WARNING,
        "Of @replicas musterd of job {{ $labels.job }} {{ $value }} can be scraped.",
        "Nothing is lost as long as the other one leads; when that one ends, none takes over.",
        hold="15m",
        placed=False,
    ),
    Alert(
        "MusterLeaderChanges",
        "count by (job, namespace)"
        " (max by (job, namespace, instance, identity) (max_over_time(muster_leader[@window])) == 1) > @leaders",
        Severity.WARNING,
        "{{ $value }} processes of musterd, job {{ $labels.job }}, have led within @window.",
        "The leader ends or loses its Lease again and again. Each takeover takes up to 20 s, in which no experiment is"
        " started, restarted or ended.",
        thresholds=(
            Threshold("window", "30m", "The window."),
            Threshold("leaders", 4, "Processes that may have led within the window: an upgrade has three."),
        ),
    ),
    Alert(
        "MusterNoLeader",
        """max by (job, namespace) (muster_leader) == 0
unless on (job)
  max by (job) (muster_leader_seen) == 1""",
        Severity.CRITICAL,
        "No musterd of job {{ $labels.job }} leads.",
        "Each one is a standby and sees no other one renew the Lease, so no experiment is started, restarted or ended."
        " A takeover takes up to 20 s.",
        hold="1m",
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        "MusterWatchStale",
        f"{WATCHES} > @seconds unless {STANDS_BY}",
        Severity.CRITICAL,
        STALE,
        "The cache from which this musterd decides is this old. A watch that is silent for 90 s is opened again, so the"
        " API server does not answer.",
        hold="30s",
        thresholds=(TOO_OLD,),
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        "MusterStandbyStale",
        f"{WATCHES} > @seconds and {STANDS_BY}",
        Severity.WARNING,
        STALE,
        "This musterd is a standby. When it leads, it lists everything again before it decides, which needs an answer"
        " of the API server.",
        hold="5m",
        thresholds=(TOO_OLD,),
    ),
    Alert(
        "MusterRightsMissing",
        "max by (job, namespace, verb, resource) (muster_rights_missing) == 1",
        Severity.CRITICAL,
        "The API server does not let musterd {{ $labels.verb }} {{ $labels.resource }}.",
        "A right of deploy/musterd.yaml is not granted, or the credentials of musterd are not accepted.",
        hold="1m",
        keep=KEEPS_ALL_BACK,
    ),
    Alert(
        "MusterScrapeCapReached",
        'max by (job, namespace) (muster_experiments_unreported{reason="cap"}) > 0',
        Severity.WARNING,
        "{{ $value }} experiments have no series of their own.",
        "The scrape is full. Those that are stuck are left out last; for those left out no alert can fire.",
        hold="5m",
    ),
    Alert(
        "MusterInternalErrors",
        "max by (job, namespace, place) (increase(muster_internal_errors_total[@window])) > 0",
        Severity.WARNING,
        "musterd had an unexpected exception in {{ $labels.place }}.",
        "It is a bug of Muster. The experiment that caused it is tried again after growing pauses; others continue.",
        thresholds=(Threshold("window", "10m", "How long an error is shown."),),
    ),
)
