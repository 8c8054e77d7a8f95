"""The alerts about musterd: without it the alerts about experiments say nothing."""

from deploy.prometheus.row import Alert, Severity, Threshold

DAEMON = (
    Alert(
        "MusterDaemonDown",
        'absent(muster_build_info{job="@job"})',
        Severity.CRITICAL,
        "No musterd of job {{ $labels.job }} is scraped.",
        "No experiment is started, restarted or ended, and no other alert of Muster can fire. Gangs that run go on.",
        hold="1m",
    ),
    Alert(
        "MusterNoLeader",
        "sum by (job, namespace) (muster_leader) == 0",
        Severity.CRITICAL,
        "No musterd of job {{ $labels.job }} leads.",
        "Each one stands by, so no experiment is started, restarted or ended. A takeover takes up to 20 s.",
        hold="1m",
    ),
    Alert(
        "MusterWatchStale",
        "muster_watch_staleness_seconds > @seconds",
        Severity.CRITICAL,
        "The watch of {{ $labels.resource }} has heard nothing for {{ $value | humanizeDuration }}"
        " ({{ $labels.instance }}).",
        "The cache from which this musterd decides, or would decide if it led, is this old. A watch that is silent for"
        " 90 s is opened anew, so the API server does not answer.",
        hold="30s",
        thresholds=(Threshold("seconds", 120, "Seconds without a sign of the API server that are too many."),),
    ),
    Alert(
        "MusterRightsMissing",
        "max by (job, namespace, verb, resource) (muster_rights_missing) == 1",
        Severity.CRITICAL,
        "The API server does not let musterd {{ $labels.verb }} {{ $labels.resource }}.",
        "A right of deploy/musterd.yaml is not granted, or the credentials of musterd are not accepted.",
        hold="1m",
    ),
    Alert(
        "MusterScrapeCapReached",
        'max by (job, namespace) (muster_experiments_unreported{reason="cap"}) > 0',
        Severity.WARNING,
        "{{ $value }} experiments have no series of their own.",
        "The scrape is full. Finished experiments are left out first; for those left out no alert can fire.",
        hold="5m",
    ),
    Alert(
        "MusterInternalErrors",
        "sum by (job, namespace, place) (increase(muster_internal_errors_total[@window])) > 0",
        Severity.WARNING,
        "musterd had an unexpected exception in {{ $labels.place }}.",
        "It is a bug of Muster. The experiment that caused it is tried again with a growing delay; the others go on.",
        thresholds=(Threshold("window", "10m", "How long an error is shown."),),
    ),
)
