"""``python -m deploy.grafana`` writes the dashboards as JSON, which Grafana imports."""

from pathlib import Path

from deploy.grafana.coordinators import JAX, RAY
from deploy.grafana.daemon import DAEMON
from deploy.grafana.experiment import EXPERIMENT
from deploy.grafana.fleet import FLEET
from deploy.grafana.goodput import GOODPUT_BOARD
from deploy.grafana.render import text
from deploy.grafana.runs import JOBSETS, WATCHED

BOARDS = (FLEET, EXPERIMENT, GOODPUT_BOARD, JAX, RAY, JOBSETS, WATCHED, DAEMON)
FOLDER = Path(__file__).parent / "json"


def main() -> None:
    """Write one file for each dashboard."""
    FOLDER.mkdir(exist_ok=True)
    for board in BOARDS:
        (FOLDER / f"{board.name}.json").write_text(text(board), encoding="utf-8")


if __name__ == "__main__":
    main()
