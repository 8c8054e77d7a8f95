"""Entry of the launcher, run as ``python -I -S <this file> <socket fd> [--userns]`` or ``… --probe <isolation>``.

The packages above this one import aiohttp and more. So bare modules take their place before anything of this package is
imported, and the launcher loads only the few modules that it needs.
"""

import sys
import types
from pathlib import Path


def _register_bare_parents() -> None:
    node = Path(__file__).resolve().parents[1]
    for name, folder in (("muster", node.parents[1]), ("muster.local", node.parents[0]), ("muster.local.node", node)):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


if __name__ == "__main__":
    _register_bare_parents()
    sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
    from muster.local.node.launcher.fork_server import serve
    from muster.local.node.launcher.pod_init import probe

    if sys.argv[1] == "--probe":
        sys.exit(probe(sys.argv[2]))
    serve(int(sys.argv[1]), userns="--userns" in sys.argv[2:])
