"""``python -m tools.site FOLDER [FORGE]`` builds the site there by the mkdocs of .venv-site; a dead link fails.

FORGE is the address of the repository's files, to which links out of docs/ then lead.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.site.pages import DOCS, ROOT, llms, menu, sources, text_of


def configuration(folder: str) -> dict[str, Any]:
    """Return the configuration of mkdocs, which is read as YAML."""
    warned = {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"}
    return {
        "site_name": "Muster",
        "site_dir": folder,
        "theme": {"name": "material", "font": False, "features": ["navigation.indexes", "search.suggest"]},
        "plugins": ["search"],
        "extra": {"version": {"provider": "mike"}},
        "nav": [{section: [{title: page} for title, page in entries.items()]} for section, entries in menu().items()],
        "markdown_extensions": [
            "tables",
            "fenced_code",
            "sane_lists",
            "pymdownx.superfences",
            {"toc": {"permalink": True}},
        ],
        "validation": {"nav": {"omitted_files": "warn", "not_found": "warn"}, "links": warned},
    }


def main(folder: Path, forge: str = "") -> int:
    """Build the site; the status of mkdocs."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(DOCS / "images", work / "docs/images", ignore=shutil.ignore_patterns("*.py", "*.txt"))
        for page in sources():
            path = work / "docs" / page
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(page, forge), encoding="utf-8")
        (work / "docs/llms.txt").write_text(llms(), encoding="utf-8")
        (work / "mkdocs.yml").write_text(json.dumps(configuration(str(folder.resolve()))), encoding="utf-8")
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        build = [str(ROOT / ".venv-site/bin/mkdocs"), "build", "--strict"]  # not --quiet, which lets warnings pass
        done = subprocess.run(build, cwd=work, env=environment, check=False, capture_output=True, text=True)
        sys.stderr.write(done.stderr if done.returncode else "")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3]))
