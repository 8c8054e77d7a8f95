"""Build one program of a Go module, pinned in a go.mod and go.sum of the tests, once, into ~/.cache/muster-tools.

The folder carries the hash of both files, and of what is written in Go beside them, so another version is another
folder. A lock lets one process build while others wait. Go's own build cache of the program is removed when the program
exists.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE_VARIABLE = "MUSTER_TOOLS_CACHE"
NO_BUILD_VARIABLE = "MUSTER_TOOLS_NO_BUILD"
"""Set to anything: programs that are not built yet count as missing."""

FETCH_SECONDS = 180.0


class CannotBuild(Exception):
    """The program is not there, and this machine cannot build it: no Go, or no way to the modules."""


def usable_go(go_mod: str, what: str, otherwise: str) -> str:
    """The path of a Go that is new enough for that go.mod. CannotBuild has what to install, or to do otherwise."""
    required = re.search(r"^go (\d+)\.(\d+)", go_mod, re.MULTILINE)
    assert required is not None
    least = (int(required[1]), int(required[2]))
    go = shutil.which("go")
    if go is None:
        raise CannotBuild(
            f"there is no Go here to build {what}: install Go {least[0]}.{least[1]} or newer, or {otherwise}"
        )
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    asked = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"go(\d+)\.(\d+)", asked.stdout)
    if found is None or (int(found[1]), int(found[2])) < least:
        raise CannotBuild(f"{what} needs Go {least[0]}.{least[1]}, and {go} is {asked.stdout.strip() or 'unknown'}")
    return go


@dataclass(frozen=True, slots=True)
class GoTool:
    """A program of a module: ``module`` is the folder of go.mod, ``package`` what `go build` is given."""

    module: Path
    package: str
    program: str
    variable: str
    """The environment variable that names a program to take instead."""
    ldflags: str = "-s -w"
    on_request: str = ""
    """The command that builds it, where its tests do not: they are skipped while it is not built."""
    c: bool = False
    """Its modules have parts in C, which take a compiler."""

    @property
    def folder(self) -> Path:
        """Where the pinned version is kept."""
        parent = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-tools")
        files = [self.module / "go.mod", self.module / "go.sum", *sorted(self.module.glob("*.go"))]
        pins = b"".join(file.read_bytes() for file in files)
        return parent / f"{self.program}-{hashlib.sha256(pins).hexdigest()[:16]}"

    def path(self) -> Path:
        """The program, built if it is not there yet. CannotBuild if it must be built and is not to be, or cannot be."""
        if given := os.environ.get(self.variable):
            return Path(given)
        program = self.folder / self.program
        if program.is_file():
            return program
        if os.environ.get(NO_BUILD_VARIABLE):
            raise CannotBuild(f"{self.program} is not built, and {NO_BUILD_VARIABLE} is set")
        if self.on_request:
            raise CannotBuild(f"{self.program} is not built: {self.on_request} builds it, in some minutes")
        return self.built()

    def needed(self) -> Path:
        """The program. Skips the test, with the reason, where there is none."""
        try:
            return self.path()
        except CannotBuild as missing:
            pytest.skip(str(missing))

    def built(self) -> Path:
        """The program, built if it is not there yet, also one that is built on request only."""
        program = self.folder / self.program
        if not program.is_file():
            go = usable_go(
                (self.module / "go.mod").read_text(encoding="utf-8"),
                self.program,
                f"name a {self.program} in {self.variable}",
            )
            if self.c and not shutil.which("cc"):
                raise CannotBuild(
                    f"{self.program} needs a C compiler: install gcc, or name a {self.program} in {self.variable}"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not program.is_file():
                    self._build(go, program)
        return program

    def _fetch(self, go: str, environment: dict[str, str]) -> None:
        command = [go, "mod", "download"]
        try:
            fetched = subprocess.run(
                command,
                cwd=self.module,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=FETCH_SECONDS,
            )
            said = fetched.stderr.strip()[-2000:] if fetched.returncode != 0 else ""
        except subprocess.TimeoutExpired:
            said = f"nothing within {FETCH_SECONDS:g} s"
        if said:
            raise CannotBuild(
                f"Go cannot fetch the modules of {self.program}; name a proxy that has them in GOPROXY, or a "
                f"{self.program} in {self.variable}. Go said: {said}"
            )

    def _build(self, go: str, program: Path) -> None:
        """Compile with low priority. The program appears whole or not at all."""
        cache = self.folder / "gocache"
        environment = {
            **os.environ,
            "CGO_ENABLED": "1" if self.c else "0",
            "GOCACHE": str(cache),
            "GOFLAGS": "-mod=readonly -buildvcs=false",
            "GOTOOLCHAIN": "local",
        }
        print(f"building {self.program} into {self.folder} (some minutes, once)", file=sys.stderr, flush=True)
        self._fetch(go, environment)
        made = program.with_suffix(".new")
        nice = ["nice", "-n", "10"] if shutil.which("nice") else []
        command = [*nice, go, "build", "-trimpath", "-ldflags", self.ldflags, "-o", str(made), self.package]
        built = subprocess.run(command, cwd=self.module, env=environment, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise RuntimeError(f"go build {self.package} failed:\n{built.stderr.strip()[-2000:]}")
        made.replace(program)
        shutil.rmtree(cache, ignore_errors=True)


def _tool(program: str, package: str = ".", name: str = "", *, c: bool = False, **more: str) -> GoTool:
    name = name or program
    return GoTool(Path(__file__).parent / name, package, program, f"MUSTER_{name.upper()}", c=c, **more)


_LATE = "make tools ALL=1"
_HELM = re.search(r"helm\.sh/helm/v3 (v\S+)", (Path(__file__).parent / "helm" / "go.mod").read_text(encoding="utf-8"))
assert _HELM is not None
HELM = _tool(
    "helm", "helm.sh/helm/v3/cmd/helm", ldflags=f"-s -w -X helm.sh/helm/v3/internal/version.version={_HELM[1]}"
)
ACTIONLINT = _tool("actionlint", "github.com/rhysd/actionlint/cmd/actionlint")
ETCDUTL = _tool("etcdutl", "go.etcd.io/etcd/etcdutl/v3", on_request=_LATE)
ARGO = _tool("argo-health", name="argo", on_request=_LATE)
FLUX = _tool("flux-health", name="flux", on_request=_LATE)
"""What the libraries of Argo CD and Flux make of the health of objects."""
VALE = _tool("vale", "github.com/vale-cli/vale/v3/cmd/vale", on_request=_LATE, c=True)
"""The linter of prose, for tests/docs/test_prose.py."""
