"""The mounted sitecustomize in real Python processes: what it does, and that the program runs as without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.assist import CODE, FILE

JAX_MEMBER = {
    "JAXOPERATOR_COORDINATOR_ADDRESS": "10.0.0.7:1234",
    "JAXOPERATOR_NUM_PROCESSES": "3",
    "JAXOPERATOR_PROCESS_ID": "1",
}
ANSWERS = """
import os, signal
[name] = [n for n in os.listdir("/proc/self/fd") if "muster-stacks-" in os.path.realpath("/proc/self/fd/" + n)]
def inside():
    os.kill(os.getpid(), signal.SIGURG)
inside()
print(int(name) >= 1000, open("/proc/self/fd/" + name).read())
"""


def run(
    folder: Path,
    program: str,
    *before: Path,
    environ: dict[str, str] | None = None,
    options: tuple[str, ...] = (),
    code: str = CODE,
) -> "subprocess.CompletedProcess[str]":
    """Run a program under the mounted folder; ``before`` are other entries of PYTHONPATH."""
    mounted = folder / "mounted"
    mounted.mkdir(exist_ok=True)
    (mounted / FILE).write_text(code)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (mounted, *before))), **(environ or {})}
    return subprocess.run(
        [sys.executable, *options, "-c", program], env=variables, capture_output=True, text=True, timeout=50
    )


def test_a_program_sees_nothing_of_it(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print(sys.argv, [p for p in sys.path if 'mounted' in p])")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['-c'] []\n", "")


def test_sigurg_writes_all_stacks_to_the_file_in_memory_and_not_to_the_log(tmp_path: Path) -> None:
    done = run(tmp_path, ANSWERS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ")
    assert "(most recent call first):\n" in done.stdout
    assert "in inside\n" in done.stdout
    assert done.stderr == ""


def test_a_program_that_joins_with_muster_answers_too(tmp_path: Path) -> None:
    join = "from muster.assist.mounted.sitecustomize import help_this_process; help_this_process()\n"
    done = subprocess.run([sys.executable, "-c", join + ANSWERS], capture_output=True, text=True, timeout=50)
    assert done.stdout.startswith("True "), done.stderr
    assert "in inside\n" in done.stdout


def test_the_file_has_a_low_number_where_the_limit_of_open_files_is_low(tmp_path: Path) -> None:
    low = "import os\nimport resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
    program = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[-1])"
    done = run(tmp_path, program, code=CODE.replace("import os\n", low, 1))
    assert (done.stdout, done.stderr) == ("100\n", "")


def test_without_memfd_the_file_has_no_name_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = CODE.replace("import os\n", "import os\ndel os.memfd_create\n", 1)
    done = run(tmp_path, ANSWERS, environ={"TMPDIR": str(tmp_path / "old")}, code=old)
    assert "in inside\n" in done.stdout
    assert not list(Path("/dev/shm").glob("muster-stacks-*"))
    assert not list((tmp_path / "old").iterdir())


def of_the_image(folder: Path, text: str) -> Path:
    """A folder with a sitecustomize that an image may have."""
    (folder / "image").mkdir()
    (folder / "image" / FILE).write_text(text)
    return folder / "image"


def test_the_images_sitecustomize_runs_too(tmp_path: Path) -> None:
    image = of_the_image(tmp_path, "import builtins\nbuiltins.of_the_image = __file__\n")
    done = run(tmp_path, "import sitecustomize; print(of_the_image == sitecustomize.__file__)", image)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_an_error_of_the_images_sitecustomize_is_reported_as_without_this_one(tmp_path: Path) -> None:
    done = run(tmp_path, "print('runs')", of_the_image(tmp_path, "raise ValueError('of the image')\n"))
    assert done.stdout == "runs\n"
    assert "ValueError: of the image" in done.stderr


def test_off_leaves_the_process_alone_and_runs_the_images(tmp_path: Path) -> None:
    image = of_the_image(tmp_path, "import builtins\nbuiltins.of_the_image = True\n")
    program = (
        "import sys; found = any(type(each).__name__ == 'Clusters' for each in sys.meta_path)\n"
        "import threading; ended = threading._shutdown.__module__\n"
        "print(of_the_image, ended, sys.excepthook is sys.__excepthook__, found)"
    )
    off = run(tmp_path, program, image, environ={**JAX_MEMBER, "MUSTER_ASSIST": "off"})
    on = run(tmp_path, program, image, environ=JAX_MEMBER)
    assert off.stdout == "True threading True False\n"
    assert on.stdout == "True sitecustomize True True\n"


@pytest.mark.parametrize("part", ["import faulthandler", "import fcntl", "import signal", "threading = sys.modules"])
def test_a_part_that_fails_leaves_the_rest_and_the_program(tmp_path: Path, part: str) -> None:
    assert part in CODE
    done = run(tmp_path, "print('runs')", environ=JAX_MEMBER, code=CODE.replace(part, "raise RuntimeError", 1))
    assert (done.returncode, done.stdout, done.stderr) == (0, "runs\n", "")


THREAD = "import threading, sys; threading.Thread(target=threading.Event().wait{}).start()\n"
KEPT, ENDS = THREAD.format(""), THREAD.format(", args=(0.1,)")


@pytest.mark.parametrize(
    ("program", "code", "printed"),
    [
        (f"{KEPT}print('said')\nraise ValueError('loss is NaN')", 1, "said\n"),
        (f"{KEPT}raise KeyboardInterrupt", 130, ""),
        ("import atexit; atexit.register(print, 'saved')\nraise ValueError('loss is NaN')", 1, "saved\n"),
        (f"{ENDS}sys.excepthook(ValueError, ValueError('loss is NaN'), None)\nprint('goes on')", 0, "goes on\n"),
    ],
    ids=["a thread would keep it", "an interrupt", "nothing keeps it", "a running program calls the hook"],
)
def test_an_exception_ends_the_process_with_its_code_and_no_other_call_of_the_hook_does(
    tmp_path: Path, program: str, code: int, printed: str
) -> None:
    done = run(tmp_path, program)
    assert (done.returncode, done.stdout) == (code, printed)
    assert done.stderr.endswith("KeyboardInterrupt\n" if code == 130 else "ValueError: loss is NaN\n")


CLUSTERS = """
class ClusterEnv:
    _cluster_types = []
    def __init_subclass__(cls, **kwargs):
        cls._cluster_types.append(cls)

class Kubernetes(ClusterEnv):
    name = "k8s"
"""


def jax_package(folder: Path) -> Path:
    """An empty package jax._src, which hides the one that is installed."""
    inner = folder / "jax" / "_src"
    inner.mkdir(parents=True)
    for each in (folder / "jax", inner):
        (each / "__init__.py").touch()
    return inner


def test_the_gang_is_the_first_of_jaxs_kinds_of_clusters(tmp_path: Path) -> None:
    package = jax_package(tmp_path / "site") / "clusters"
    package.mkdir()
    (package / "__init__.py").write_text(CLUSTERS)
    program = """
from jax._src.clusters import ClusterEnv
first, second = ClusterEnv._cluster_types
print(first.name, second.name, first.is_env_present(), first.get_coordinator_address(300, None),
      first.get_process_count(), first.get_process_id(), first.get_local_process_id())
"""
    done = run(tmp_path, program, tmp_path / "site", environ=JAX_MEMBER)
    assert (done.stdout, done.stderr) == ("muster k8s True 10.0.0.7:1234 3 1 None\n", "")


def test_a_jax_of_another_shape_is_imported_as_without_it(tmp_path: Path) -> None:
    (jax_package(tmp_path / "site") / "clusters.py").write_text("moved = True\n")
    done = run(tmp_path, "from jax._src.clusters import moved; print(moved)", tmp_path / "site", environ=JAX_MEMBER)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_program_that_imports_no_jax_is_offered_none(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print('jax' in sys.modules, 'threading' in sys.modules)", environ=JAX_MEMBER)
    assert done.stdout == "False False\n"


@pytest.mark.parametrize("options", [("-I",), ("-E",), ("-S",)])
def test_python_that_ignores_its_environment_runs_without_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, "import threading; print(threading._shutdown.__module__)", options=options)
    assert done.stdout == "threading\n"
