"""Colors and words of states, the same on all dashboards."""

from deploy.grafana.parts import BLUE, CYAN, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW

PHASES = {
    "Suspended": GREY,
    "Queued": CYAN,
    "Pending": YELLOW,
    "Assembling": ORANGE,
    "Running": GREEN,
    "Restarting": PURPLE,
    "Succeeded": BLUE,
    "Failed": RED,
}

COORDINATOR_STATES = {
    "serving": GREEN,
    "refused": YELLOW,
    "timeout": ORANGE,
    "silent": RED,
    "tls": PURPLE,
    "other-protocol": GREY,
}
