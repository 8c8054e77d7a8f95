"""``python -m deploy.prometheus`` writes the rule file, the chart's template and the runbooks' index.

``python -m deploy.prometheus team,example.com/cost-center`` prints the rule file with these labels of owners, which are
those of the setting ``owner_labels``; ``--runbooks https://muster.example.com/runbooks`` prints it with links to there.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from deploy.prometheus.groups import GROUPS
from deploy.prometheus.pages import index
from deploy.prometheus.text import chart, plain
from muster.api.values.owners import OwnerLabels
from muster.metrics.runbooks import PUBLISHED

ROOT = Path(__file__).parents[2]

STANDARD = tuple(group for group in GROUPS if not group.option)
GENERATED: dict[str, Callable[[], str]] = {
    "deploy/prometheus/muster.rules.yaml": lambda: plain(STANDARD),
    "deploy/prometheus/muster-slo.rules.yaml": lambda: plain(tuple(group for group in GROUPS if group.option)),
    "deploy/helm/muster/templates/_rules.tpl": lambda: chart(GROUPS),
    "docs/runbooks/README.md": index,
}
"""The files below the root, and the text of each."""


def main() -> None:
    """Write the files, or print the rule file with what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m deploy.prometheus", description="Without arguments: write all files."
    )
    parser.add_argument("owners", nargs="?", default="", help="print the rules with these labels of owners")
    parser.add_argument("--runbooks", default="", help="print the rules with links to the runbooks at this address")
    given = parser.parse_args()
    if given.owners or given.runbooks:
        print(plain(STANDARD, OwnerLabels.of_list(given.owners).names, given.runbooks.rstrip("/") or PUBLISHED), end="")
        return
    for name, text in GENERATED.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
