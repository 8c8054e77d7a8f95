"""Build the images of the run with buildah, once, into a store outside the repository.

The base is made of Debian's packages, so that no foreign registry is asked. An image's tag is the hash of what it is
made of: what has not changed is not built again, and checkouts with other code do not disturb each other.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real.binaries import home
from tests.real.ground import ROOT
from tests.real_node.addresses import HOST, REGISTRY
from tests.real_node.programs import Programs
from tests.tools.go_tool import CannotBuild

HERE = Path(__file__).parent
DEBIAN = "http://deb.debian.org/debian"
SUITE = "bookworm"
KEPT = 3
"""Versions of an image that stay in the store."""
PIP_FILES = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches the package index; there while an image is built, and not part of it."""
PACKAGES = ("jax", "jaxlib", "numpy", "py-spy")
"""Of the image `train`, with the versions of constraints.txt where it has them."""


@dataclass(frozen=True, slots=True)
class Images:
    """The image of each name in the run's registry."""

    tags: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return f"{REGISTRY}/{name}:{self.tags[name]}"


def store() -> Path:
    """The folder of the images and of what is needed to build them."""
    return home() / "images"


def environment() -> dict[str, str]:
    """For buildah: its store is in our cache, not in that of the machine."""
    folder = store()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "storage.conf"
    file.write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder / "graph"}"\nrunroot = "/run/muster-images"\n'
    )
    return {**os.environ, "CONTAINERS_STORAGE_CONF": str(file)}


def images(programs: Programs) -> Images:
    """All images, built where they are not there yet. CannotBuild where packages cannot be fetched."""
    versions = _versions()
    base = _digest(SUITE, _text("base.packages"))
    made_of = {
        "base": base,
        "pause": _digest(_text("pause.containerfile"), programs["pause"]),
        "coredns": _digest(_text("coredns.containerfile"), programs["coredns"]),
        "musterd": _digest(base, *_sources()),
        "train": _digest(base, _text("train.containerfile"), *versions, *_files(ROOT / "examples", "*")),
    }
    found = Images(made_of)
    with _alone():
        present = _present()
        lacking = [name for name, tag in found.tags.items() if f"localhost/{name}:{tag}" not in present]
        for number, name in enumerate(lacking, 1):
            began = time.monotonic()
            print(f"building image {number} of {len(lacking)}: {name} (a minute or two)", flush=True)
            _build(name, found.tags[name], found, programs, versions)
            print(f"  {name}: built in {time.monotonic() - began:.0f} s", flush=True)
            _forget_old(name, found.tags[name])
    return found


def push(found: Images) -> None:
    """Push all to the run's registry. Layers are not compressed: they go no further than this machine."""
    for name, tag in found.tags.items():
        target = f"docker://{HOST}:{REGISTRY.partition(':')[2]}/{name}:{tag}"  # only nodes know the registry's name
        _buildah("push", "--tls-verify=false", "--disable-compression", f"localhost/{name}:{tag}", target)


def _build(name: str, tag: str, found: Images, programs: Programs, versions: list[str]) -> None:
    target, base = f"localhost/{name}:{tag}", f"localhost/base:{found.tags['base']}"
    mounted = " ".join(f"--volume {file}:{file}:ro" for file in PIP_FILES if Path(file).exists())
    options = f"--network host --isolation chroot --layers {mounted}"
    with tempfile.TemporaryDirectory(prefix="image-", dir=store()) as work:
        context = Path(work)
        if name == "musterd":
            variables = {"BASE": base, "OUT": work, "BUILD_OPTIONS": options}
            _run([str(ROOT / "deploy/image/build"), target], {**environment(), **variables})
            return
        if name == "base":
            _debian(context / "base.tar")
        elif name == "train":
            shutil.copytree(ROOT / "examples", context / "examples", ignore=shutil.ignore_patterns("__pycache__"))
            (context / "requirements.txt").write_text("\n".join(versions))
        else:
            shutil.copy(programs[name], context / name)
        arguments = ("--build-arg", f"BASE={base}", "--file", str(HERE / f"{name}.containerfile"))
        _buildah("build", *options.split(), *arguments, "--tag", target, str(context))


def _debian(file: Path) -> None:
    """A Debian with few packages as a tar file, in which the same input gives the same bytes."""
    wanted = ",".join(_text("base.packages").split())
    without = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("man", "doc", "locale")]
    command = ["mmdebstrap", "--variant=minbase", f"--include={wanted}", *without, SUITE, str(file), DEBIAN]
    _run(command, {**os.environ, "SOURCE_DATE_EPOCH": "0"})


def _run(command: list[str], variables: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuild(f"{' '.join(command[:2])} failed:\n{(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def _buildah(*arguments: str) -> str:
    return _run(["buildah", *arguments], environment())


def _present() -> set[str]:
    listed = json.loads(_buildah("images", "--json") or "null") or []
    return {name for each in listed for name in each.get("names") or ()}


def _forget_old(name: str, tag: str) -> None:
    """Remove all but this version and the newest of the others."""
    listed = json.loads(_buildah("images", "--json", "--filter", f"reference=localhost/{name}") or "null") or []
    newest = sorted(listed, key=lambda each: str(each.get("createdatraw", "")), reverse=True)
    kept = f"localhost/{name}:{tag}"
    others = [each for image in newest for each in image.get("names") or () if each != kept]
    for each in [other for other in others if other.startswith(f"localhost/{name}:")][KEPT - 1 :]:
        with contextlib.suppress(CannotBuild):  # a container of a build beside this one has it
            _buildah("rmi", each)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One build at a time; the kernel releases the lock of a process that is killed."""
    store().mkdir(parents=True, exist_ok=True)
    with (store() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _versions() -> list[str]:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([A-Za-z0-9._-]+)(==\S+)", constraints, re.MULTILINE))
    return [f"{name}{pins.get(name, '')}" for name in PACKAGES]


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _sources() -> list[str | Path]:
    """What the Dockerfile copies."""
    single = [
        ROOT / each for each in ("Dockerfile", "pyproject.toml", "constraints.txt", "README.md", "docs/reasons.md")
    ]
    folders = [(ROOT / "muster", "*"), (ROOT / "docs/runbooks", "*"), (ROOT / "deploy/image", "*.txt")]
    return [*single, *(file for folder, pattern in folders for file in _files(folder, pattern))]


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(each for each in folder.rglob(pattern) if each.is_file() and "__pycache__" not in each.parts)


def _digest(*parts: str | Path) -> str:
    """Of texts, and of files with their names."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            whole.update(str(part.relative_to(ROOT)).encode())
            whole.update(part.read_bytes())
        else:
            whole.update(part.encode())
    return whole.hexdigest()[:12]
