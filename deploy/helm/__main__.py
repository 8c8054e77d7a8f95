"""Write every generated file of the chart: ``python -m deploy.helm``.

The values, the schema, their page and the copies need Python only. deploy/musterd.yaml and deploy/readers.yaml need
helm, which is built from its Go module if it is not there; where it cannot be, the reason is printed and they stay.
"""

import json
import sys

from deploy.helm.copies import CHART, ROOT, copies
from deploy.helm.kinds import kinds_template
from deploy.helm.manifests import manifests, render
from deploy.helm.pages import values_file, with_table
from deploy.helm.schema import schema
from tests.tools.go_tool import HELM, CannotBuild

PAGE = ROOT / "docs/chart.md"


def main() -> int:
    """Write what can be written."""
    files = {
        **copies(),
        CHART / "values.yaml": values_file(),
        CHART / "templates/_kinds.tpl": kinds_template(),
        CHART / "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        PAGE: with_table(PAGE.read_text(encoding="utf-8")),
    }
    for stale in set((CHART / "files").rglob("*.*")) - set(files):
        stale.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    try:
        helm = HELM.path()
    except CannotBuild as missing:
        print(f"not written, for want of helm: deploy/musterd.yaml, deploy/readers.yaml. {missing}", file=sys.stderr)
        return 0
    for path, text in manifests(render(helm)).items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
