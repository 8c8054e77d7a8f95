"""Build the real control plane, once, into a cache outside the repository: etcd, the API server and its companions.

Each program is an ordinary Go module, pinned in control_plane/go.mod and go.sum. The cache's folder carries the hash of
both, so another version is another folder. A finished build is a folder of five programs; Go's own build cache (7 GB)
is kept inside it until all are there, so that a build that ran out of time goes on where it was.

``CannotBuild`` is for what the machine lacks: Go, modules, disk, memory, time. What the pins in go.mod get wrong is an
error like any other.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MODULE = Path(__file__).parent / "control_plane"
CACHE_VARIABLE = "MUSTER_REAL_CACHE"
SECONDS_VARIABLE = "MUSTER_REAL_BUILD_SECONDS"
BUILD_SECONDS = 2700.0
"""For everything: five minutes on 2 idle cores, twenty on busy ones."""
FETCH_SECONDS = 600.0
"""For all modules (0.1 GB), in one attempt."""
FETCH_ATTEMPTS = 2
DISK = 8_000_000_000
"""Bytes that are free before a build begins: Go's build cache takes 7 GB."""
CANNOT_BUILD = 3
"""The exit code of `make real` where `CannotBuild` is raised."""

PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
PROGRESS_SECONDS = 15.0
WANTING = re.compile(r"no space left on device|cannot allocate memory|signal: killed", re.IGNORECASE)
"""What Go says where the machine has too little."""


class CannotBuild(Exception):
    """The control plane is not there, and this machine cannot build it; the text says what is missing."""


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
    with _alone(target.folder):
        programs = [program for program in programs if not (target.folder / program).is_file()]  # another build
        if not programs:
            return
        _make_room(target.folder)
        work = Path(tempfile.mkdtemp(prefix="build-", dir=target.folder))
        deadline = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or BUILD_SECONDS)
        print(
            f"building Kubernetes {target.kubernetes} and etcd {target.etcd} into {target.folder} "
            f"(5 minutes on 2 idle cores, 20 on busy ones; once)",
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
            fetch(go, [PROGRAMS[program] for program in programs], environment)
            for program in programs:
                compile_one(go, PROGRAMS[program], work / program, stamps(target.kubernetes), environment, deadline)
                (work / program).replace(target.folder / program)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(target.folder / "gocache", ignore_errors=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One build at a time in a folder; the kernel releases the lock of a process that is killed."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_room(folder: Path) -> None:
    """Remove what builds left behind that were killed, or were of other versions; CannotBuild if the disk is full."""
    for left in (*folder.glob("build-*"), *(each for each in folder.parent.glob("*/gocache") if each.parent != folder)):
        shutil.rmtree(left, ignore_errors=True)
    cached = sum(file.stat().st_size for file in (folder / "gocache").rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    if free + cached < DISK:
        raise CannotBuild(
            f"{free / 1e9:.1f} GB are free in {folder}, and the build needs {DISK / 1e9:.0f} GB until it is done; "
            f"{CACHE_VARIABLE} names another place"
        )


def fetch(go: str, packages: list[str], environment: Mapping[str, str]) -> None:
    """Have Go fetch every module; once more where the proxy fails or takes too long."""
    command = [go, "list", "-deps", *packages]
    for attempt in range(1, FETCH_ATTEMPTS + 1):
        try:
            listed = subprocess.run(
                command, cwd=MODULE, env=environment, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS
            )
        except subprocess.TimeoutExpired:
            said = f"go list did not end within {FETCH_SECONDS:.0f} s"
        else:
            if listed.returncode == 0:
                return
            said = listed.stderr.strip()[-2000:]
            if re.search(r"go\.sum|go\.mod|checksum", said):
                raise RuntimeError(f"go list failed:\n{said}")
        print(f"  modules not fetched, attempt {attempt} of {FETCH_ATTEMPTS}: {said}", flush=True)
    raise CannotBuild(
        f"Go cannot fetch the modules; name a proxy that has them in GOPROXY, or set KUBECONFIG to use a cluster. "
        f"Go said:\n{said}"
    )


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


def compile_one(
    go: str, package: str, output: Path, ldflags: str, environment: Mapping[str, str], deadline: float
) -> None:
    """Compile one program, printing how many packages are done; raise with Go's last lines if it fails."""
    nice = ["nice", "-n", "19"] if shutil.which("nice") else []
    started = time.monotonic()
    command = [*nice, go, "build", "-v", "-trimpath", "-ldflags", ldflags, "-o", str(output), package]
    process = subprocess.Popen(
        command,
        cwd=MODULE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,  # Go's compilers end with it; in a session of its own, Linux may not count its niceness
    )
    assert process.stderr is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda stream=process.stderr: lines.extend(stream), daemon=True)
    reader.start()
    try:
        while True:
            try:
                process.wait(max(0.0, min(PROGRESS_SECONDS, deadline - time.monotonic())))
                break
            except subprocess.TimeoutExpired:
                seconds = int(time.monotonic() - started)
                print(f"  {output.name}: {len(lines)} packages compiled ({seconds} s)", flush=True)
                if time.monotonic() >= deadline:
                    raise CannotBuild(
                        f"the build did not end in the time it has ({SECONDS_VARIABLE} sets it). What is compiled is "
                        f"kept, and the next build goes on from there"
                    ) from None
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    finally:
        reader.join()
        process.stderr.close()
    if process.returncode != 0:
        said = "".join(lines[-30:])
        if WANTING.search(said):
            raise CannotBuild(f"this machine has too little memory or disk to build {package}. Go said:\n{said}")
        raise RuntimeError(f"go build {package} failed:\n{said}")
    print(f"  {output.name}: built in {time.monotonic() - started:.0f} s", flush=True)


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
