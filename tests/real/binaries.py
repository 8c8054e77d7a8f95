"""Build the programs of a Go module, once, into a cache outside the repository; first of all the real control plane.

The programs are ordinary Go packages, pinned in a go.mod and go.sum of the tests. The cache's folder carries the hash
of the module's files, so another version is another folder. A finished build is a folder of programs. All modules share
one build cache of Go (up to 10 GB), so that a package which two of them need is compiled once, and a build that ran out
of time resumes where it was. `forget_build_cache` removes it when a command has all of its programs.

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

from tests.tools.go_tool import CannotBuild, usable_go

MODULE = Path(__file__).parent / "control_plane"
CACHE_VARIABLE = "MUSTER_REAL_CACHE"
SECONDS_VARIABLE = "MUSTER_REAL_BUILD_SECONDS"
BUILD_SECONDS = 2700.0
"""For everything: five minutes on 2 idle cores, twenty on busy ones."""
FETCH_SECONDS = 600.0
"""For all modules (0.1 GB), in one attempt."""
FETCH_ATTEMPTS = 2
DAY = 86_400.0
DISK = 8_000_000_000
"""Bytes that are free before a build begins: Go's build cache takes 7 GB for the control plane."""
CANNOT_BUILD = 3
"""The exit code of `make real` where `CannotBuild` is raised."""

STALE = "{{if .Stale}}{{.StaleReason}}{{end}}"
CACHED = "available in build cache"
"""What `go list` prints of a package that is compiled already."""
GO_FILES = ("*.mod", "*.sum", "*/*.go")
"""What the hash of a module is made of."""
PROGRESS_SECONDS = 15.0
WANTING = re.compile(r"no space left on device|cannot allocate memory|signal: killed", re.IGNORECASE)
"""What Go prints where the machine has too little."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Go module of the tests, and the programs that are built from it."""

    folder: Path
    packages: Mapping[str, str]
    """What `go build` is given, by the program's name."""
    title: str
    """What the programs are, with how long they take to build."""
    ldflags: str = "-s -w"
    tags: str = ""

    @property
    def go_mod(self) -> str:
        """The text of go.mod."""
        return (self.folder / "go.mod").read_text(encoding="utf-8")

    def pinned(self, module: str) -> str:
        """The version that go.mod requires of a module."""
        found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", self.go_mod, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.folder / 'go.mod'} does not require {module}")
        return found.group(1)

    def cache(self) -> Path:
        """The folder of this version's programs; MUSTER_REAL_CACHE names another parent than ~/.cache/muster-real."""
        files = [file for pattern in GO_FILES for file in sorted(self.folder.glob(pattern))]
        return home() / hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]

    def built(self) -> Path:
        """The folder of the programs, built if they are not there yet. CannotBuild if they must be and cannot be."""
        folder = self.cache()
        missing = [program for program in self.packages if not (folder / program).is_file()]
        if missing:
            build(self, folder, missing)
        return folder


def home() -> Path:
    """The folder of everything that is built for `make real` and `make real-node`."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "muster-real")


def build_cache() -> Path:
    """Go's build cache, of all modules."""
    return home() / "gocache"


def forget_build_cache(unused: float = 0.0) -> None:
    """Remove Go's build cache, unless a build uses it or used it within that many seconds."""
    lock = home() / "gocache.lock"
    if build_cache().is_dir() and lock.exists() and time.time() - lock.stat().st_mtime >= unused:
        with contextlib.suppress(BlockingIOError), _lock(fcntl.LOCK_EX | fcntl.LOCK_NB, lock):
            shutil.rmtree(build_cache(), ignore_errors=True)


def stamps(version: str) -> str:
    """Linker flags: no symbol tables, and the version that `kubectl version` and /version show."""
    major, minor = version.lstrip("v").split(".")[:2]
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())])


def control_plane() -> Module:
    """Kubernetes' servers, etcd and kubectl."""
    packages = {
        "etcd": "go.etcd.io/etcd/server/v3",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    }
    bare = Module(MODULE, packages, "")
    kubernetes, etcd = bare.pinned("k8s.io/kubernetes"), bare.pinned("go.etcd.io/etcd/server/v3")
    title = f"Kubernetes {kubernetes} and etcd {etcd} (5 minutes on 2 idle cores, 20 on busy ones; once)"
    return Module(MODULE, packages, title, stamps(kubernetes))


PROGRAMS = control_plane().packages


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the programs of one pinned version of the control plane are."""

    folder: Path
    kubernetes: str
    etcd: str

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)


def binaries() -> Binaries:
    """The control plane, built if it is not there yet. CannotBuild if it must be built and cannot be."""
    module = control_plane()
    forget_build_cache(unused=DAY)
    kubernetes, etcd = module.pinned("k8s.io/kubernetes"), module.pinned("go.etcd.io/etcd/server/v3")
    return Binaries(module.built(), kubernetes, etcd)


def build(module: Module, folder: Path, programs: list[str]) -> None:
    """Compile programs into the folder. Each appears there whole or not at all."""
    go = usable_go(module.go_mod, module.title.partition(" (")[0], "set KUBECONFIG to use a cluster")
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(fcntl.LOCK_EX, folder / "lock"), _lock(fcntl.LOCK_SH, home() / "gocache.lock"):
        programs = [program for program in programs if not (folder / program).is_file()]  # another build
        if not programs:
            return
        _make_room(folder)
        work = Path(tempfile.mkdtemp(prefix="build-", dir=folder))
        deadline = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or BUILD_SECONDS)
        print(f"building {module.title} into {folder}", flush=True)
        environment = {
            **os.environ,
            "CGO_ENABLED": "0",
            "GOCACHE": str(build_cache()),
            "GOFLAGS": f"-mod=readonly -buildvcs=false -p={os.cpu_count() or 2}",
            "GOTOOLCHAIN": "local",
        }
        try:
            for program in programs:
                packages = needed(module, go, module.packages[program], environment)
                compile_one(module, go, program, work / program, environment, deadline, packages)
                (work / program).replace(folder / program)
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _lock(how: int, file: Path) -> Iterator[None]:
    """Hold the lock of a file; the kernel releases the lock of a process that is killed."""
    with file.open("w") as lock:
        fcntl.flock(lock, how)
        yield


def _make_room(folder: Path) -> None:
    """Remove what killed builds left; CannotBuild if the disk is full."""
    for left in folder.glob("build-*"):
        shutil.rmtree(left, ignore_errors=True)
    cached = sum(file.stat().st_size for file in build_cache().rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    if free + cached < DISK:
        raise CannotBuild(
            f"{free / 1e9:.1f} GB are free in {folder}, and the build needs {DISK / 1e9:.0f} GB until it is done; "
            f"{CACHE_VARIABLE} names another place"
        )


def needed(module: Module, go: str, package: str, environment: Mapping[str, str]) -> int:
    """How many packages must be compiled. Go fetches every module first, once more where the proxy fails or is slow."""
    print(f"  {package}: Go lists its packages and fetches its modules (a minute or two)", flush=True)
    command = [go, "list", "-trimpath", *_tags(module), "-deps", "-f", STALE, package]
    for attempt in range(1, FETCH_ATTEMPTS + 1):
        try:
            listed = subprocess.run(
                command,
                cwd=module.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=FETCH_SECONDS,
            )
        except subprocess.TimeoutExpired:
            said = f"go list did not end within {FETCH_SECONDS:.0f} s"
        else:
            if listed.returncode == 0:
                return sum(CACHED not in line for line in listed.stdout.splitlines() if line)
            said = listed.stderr.strip()[-2000:]
            if re.search(r"go\.sum|go\.mod|checksum", said):
                raise RuntimeError(f"go list failed:\n{said}")
        print(f"  modules not fetched, attempt {attempt} of {FETCH_ATTEMPTS}: {said}", flush=True)
    raise CannotBuild(
        f"Go cannot fetch the modules; name a proxy that has them in GOPROXY, or set KUBECONFIG to use a cluster. "
        f"Go said:\n{said}"
    )


def _tags(module: Module) -> list[str]:
    return ["-tags", module.tags] if module.tags else []


def compile_one(
    module: Module, go: str, program: str, output: Path, environment: Mapping[str, str], deadline: float, packages: int
) -> None:
    """Compile one program, printing how many packages are done; raise with Go's last lines if it fails."""
    nice = ["nice", "-n", "19"] if shutil.which("nice") else []
    started = time.monotonic()
    package, options = module.packages[program], ("-v", "-trimpath", *_tags(module), "-ldflags", module.ldflags)
    process = subprocess.Popen(
        [*nice, go, "build", *options, "-o", str(output), package],
        cwd=module.folder,
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
                print(f"  {output.name}: {len(lines)} of {packages} packages compiled ({seconds} s)", flush=True)
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
