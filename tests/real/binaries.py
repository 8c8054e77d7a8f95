"""Build the real control plane, once, into a cache outside the repository: etcd, the API server and its companions.

Each program is an ordinary Go module, pinned in control_plane/go.mod and go.sum. The cache's folder carries the hash of
both, so another version is another folder. A finished build is a folder of six files; Go's own build cache (7 GB) is
kept inside it only while the build runs.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

MODULE = Path(__file__).parent / "control_plane"
CACHE_VARIABLE = "MUSTER_REAL_CACHE"
CANNOT_BUILD = 3
"""The exit code of `make real` on a machine without Go, or without a proxy that has the modules."""

PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
PROGRESS_SECONDS = 15.0


class CannotBuild(Exception):
    """The control plane is not there, and this machine cannot build it: no Go, or no way to the modules."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the programs of one pinned version are."""

    folder: Path
    kubernetes: str
    etcd: str

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)


def pinned(module: str, text: str) -> str:
    """The version that go.mod requires of one module."""
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{MODULE / 'go.mod'} does not require {module}")
    return found.group(1)


def cache_folder() -> Path:
    """The folder of this version's programs; MUSTER_REAL_CACHE names another parent than ~/.cache/muster-real."""
    parent = Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-real")
    digest = hashlib.sha256((MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()).hexdigest()
    return parent / digest[:16]


def binaries() -> Binaries:
    """The programs, built if they are not there yet. CannotBuild if they must be built and cannot be."""
    text = (MODULE / "go.mod").read_text(encoding="utf-8")
    found = Binaries(cache_folder(), pinned("k8s.io/kubernetes", text), pinned("go.etcd.io/etcd/server/v3", text))
    missing = [program for program in PROGRAMS if not (found.folder / program).is_file()]
    if missing:
        build(found, missing)
    return found


def build(target: Binaries, programs: list[str]) -> None:
    """Compile programs into the target's folder. Each appears there whole or not at all."""
    go = usable_go()
    target.folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="build-", dir=target.folder))
    print(
        f"building Kubernetes {target.kubernetes} and etcd {target.etcd} into {target.folder} "
        f"(about 20 minutes on 2 cores, once)",
        flush=True,
    )
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOCACHE": str(target.folder / "gocache"),
        "GOFLAGS": f"-mod=readonly -buildvcs=false -p={os.cpu_count() or 2}",
        "GOTOOLCHAIN": "local",
    }
    try:
        for program in programs:
            compile_one(go, PROGRAMS[program], work / program, stamps(target.kubernetes), environment)
            (work / program).replace(target.folder / program)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(target.folder / "gocache", ignore_errors=True)


def usable_go() -> str:
    """The path of a Go that is new enough for go.mod."""
    required = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    assert required is not None
    least = (int(required[1]), int(required[2]))
    go = shutil.which("go")
    if go is None:
        raise CannotBuild(
            f"there is no Go here. Install Go {least[0]}.{least[1]} or newer, or set KUBECONFIG to use a cluster"
        )
    asked = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=True, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    version = re.search(r"go(\d+)\.(\d+)", asked.stdout)
    if version is None or (int(version[1]), int(version[2])) < least:
        raise CannotBuild(f"Go {least[0]}.{least[1]} is needed, and {go} is {asked.stdout.strip() or 'unknown'}")
    return go


def stamps(version: str) -> str:
    """Linker flags: no symbol tables, and the version that `kubectl version` and /version show."""
    major, minor = version.lstrip("v").split(".")[:2]
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())])


def compile_one(go: str, package: str, output: Path, ldflags: str, environment: dict[str, str]) -> None:
    """Compile one program, printing how many packages are done; raise with Go's last lines if it fails."""
    nice = ["nice", "-n", "10"] if shutil.which("nice") else []
    listed = subprocess.run(
        [go, "list", "-deps", package], cwd=MODULE, env=environment, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise unlisted(package, listed.stderr)
    total = len(listed.stdout.split())
    started = time.monotonic()
    command = [*nice, go, "build", "-v", "-trimpath", "-ldflags", ldflags, "-o", str(output), package]
    process = subprocess.Popen(
        command, cwd=MODULE, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda stream=process.stderr: lines.extend(stream), daemon=True)
    reader.start()
    try:
        while True:
            try:
                process.wait(PROGRESS_SECONDS)
                break
            except subprocess.TimeoutExpired:
                seconds = int(time.monotonic() - started)
                print(f"  {output.name}: {len(lines)} packages compiled, of {total} at most ({seconds} s)", flush=True)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    reader.join()
    if process.returncode != 0:
        raise RuntimeError(f"go build {package} failed:\n{''.join(lines[-30:])}")
    print(f"  {output.name}: built in {time.monotonic() - started:.0f} s", flush=True)


def unlisted(package: str, errors: str) -> Exception:
    """The error for a package that cannot be listed: its modules cannot be fetched, or go.mod and go.sum are wrong."""
    said = errors.strip()[-2000:]
    if "go.sum" in said or "checksum" in said or "go.mod" in said:
        return RuntimeError(f"go list {package} failed:\n{said}")
    return CannotBuild(
        f"Go cannot fetch the modules of {package}; name a proxy that has them in GOPROXY, or set KUBECONFIG to use "
        f"a cluster. Go said:\n{said}"
    )


def main() -> int:
    """Build, and print where the programs are as JSON."""
    try:
        found = binaries()
    except CannotBuild as missing:
        print(f"make real: {missing}", file=sys.stderr)
        return CANNOT_BUILD
    print(json.dumps({"folder": str(found.folder), "kubernetes": found.kubernetes, "etcd": found.etcd}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
