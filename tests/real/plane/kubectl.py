"""The real kubectl, as an administrator."""

import json
import subprocess
from typing import Any

from tests.real.plane.programs import ProgramFailed


class Kubectl:
    """One kubectl with one kubeconfig; without one it reads KUBECONFIG as a person's does, which may name several."""

    def __init__(self, program: str, config: str = "") -> None:
        self._command = [program, *(("--kubeconfig", config) if config else ())]

    def __call__(self, *arguments: str, body: Any = None) -> str:
        """Run it; a body goes to its standard input as JSON. Raises ProgramFailed with what it printed."""
        done = subprocess.run(
            [*self._command, *arguments],
            input=None if body is None else json.dumps(body),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ProgramFailed(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout
