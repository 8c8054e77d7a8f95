"""``python -m deploy.prometheus`` writes the rule file, the chart's template and the runbooks' index.

``python -m deploy.prometheus team,example.com/cost-center`` prints the rule file with these labels of owners, which are
those of the setting ``owner_labels``.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from deploy.prometheus.groups import GROUPS
from deploy.prometheus.pages import index
from deploy.prometheus.text import chart, plain
from muster.api.values.owners import OwnerLabels

ROOT = Path(__file__).parents[2]

STANDARD = tuple(group for group in GROUPS if not group.option)
GENERATED: dict[str, Callable[[], str]] = {
    "deploy/prometheus/muster.rules.yaml": lambda: plain(STANDARD),
    "deploy/prometheus/muster-slo.rules.yaml": lambda: plain(tuple(group for group in GROUPS if group.option)),
    "deploy/helm/muster/templates/_rules.tpl": lambda: chart(GROUPS),
    "docs/runbooks/README.md": index,
}
"""The files below the root, and the text of each."""

if __name__ == "__main__":
    if given := sys.argv[1:]:
        print(plain(STANDARD, OwnerLabels.of_list(given[0]).names), end="")
        sys.exit()
    for name, text in GENERATED.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(), encoding="utf-8")
