"""``python -m tools.site.versions FOLDER`` lists the versions of the site, and opens the newest at its front page.

FOLDER has a folder for each version, such as 0.1.0. The theme reads versions.json, in the form that mike writes.
"""

import json
import re
import sys
from pathlib import Path
from typing import Final

VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
FRONT: Final = '<!doctype html><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">Muster {0}</a>\n'


def versions(folder: Path) -> list[str]:
    """Return the versions that have a folder, the newest first."""
    found = (each.name for each in folder.iterdir() if each.is_dir() and VERSION.fullmatch(each.name))
    return sorted(found, key=lambda name: tuple(map(int, name.split("."))), reverse=True)


def main(folder: Path) -> None:
    """Write the list and the front page."""
    found = versions(folder)
    rows = [{"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []} for name in found]
    (folder / "versions.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "index.html").write_text(FRONT.format(found[0]), encoding="utf-8")
    (folder / ".nojekyll").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
