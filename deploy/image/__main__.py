"""Write the lock files of the image from pyproject.toml and constraints.txt: ``python -m deploy.image``.

It asks the package index for hashes, so it is not part of ``make docs``; run it after a change of a version. A test
compares the versions in the lock files with constraints.txt.
"""

import subprocess
import sys

from deploy.image.locks import LOCKS, ROOT, Lock

HEADER = "# Written by `python -m deploy.image` from pyproject.toml and constraints.txt; do not edit.\n"


def write(lock: Lock) -> None:
    """Resolve the lock's requirements for the oldest Python that runs musterd, with the hash of every file."""
    resolve = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate"]
    options = ["--no-header", "--python-version", "3.11", "--constraint", "constraints.txt", *lock.sources, "-"]
    text = "\n".join(lock.requirements)
    made = subprocess.run([*resolve, *options], cwd=ROOT, input=text, capture_output=True, text=True, check=True)
    lock.path.write_text(HEADER + made.stdout, encoding="utf-8")


for each in LOCKS:
    write(each)
    print(f"wrote {each.path.relative_to(ROOT)}")
