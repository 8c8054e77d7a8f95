"""Write every generated file of the chart: ``python -m deploy.helm``.

The values, the schema, their page and the copies need Python only. deploy/musterd.yaml, deploy/readers.yaml and the
table of rights in docs/platform.md need helm, which is built from its Go module if it is missing; if it cannot be
built, the reason is printed and they stay.
"""

import json
import sys

from deploy.helm import rights
from deploy.helm.bounds import bounds_template
from deploy.helm.copies import CHART, ROOT, copies
from deploy.helm.kinds import kinds_template
from deploy.helm.manifests import manifests, render
from deploy.helm.pages import BEGIN, table, values_file, with_table
from deploy.helm.schema import schema
from tests.tools.go_tool import HELM, CannotBuild

PAGE = ROOT / "docs/chart.md"
PLATFORM = ROOT / "docs/platform.md"


def main() -> int:
    """Write what can be written."""
    files = {
        **copies(),
        CHART / "values.yaml": values_file(),
        CHART / "templates/_kinds.tpl": kinds_template(),
        CHART / "templates/_bounds.tpl": bounds_template(),
        CHART / "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        PAGE: with_table(PAGE.read_text(encoding="utf-8"), BEGIN, table()),
    }
    for stale in set((CHART / "files").rglob("*.*")) - set(files):
        stale.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    try:
        helm = HELM.path()
    except CannotBuild as missing:
        kept = f"deploy/musterd.yaml, deploy/readers.yaml, {PLATFORM.name}"
        print(f"without helm, not written: {kept}. {missing}", file=sys.stderr)
        return 0
    page = with_table(PLATFORM.read_text(encoding="utf-8"), rights.BEGIN, rights.table(helm))
    for path, text in {**manifests(render(helm)), PLATFORM: page}.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
