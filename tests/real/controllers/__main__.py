"""``python -m tests.real.controllers``: build the controllers, and print where they are. Exit status 3: it cannot."""

import sys

from tests.real.binaries import CANNOT_BUILD
from tests.real.controllers import MODULE
from tests.tools.go_tool import CannotBuild

if __name__ == "__main__":
    try:
        print(MODULE.built())
    except CannotBuild as missing:
        print(f"the controllers cannot be built: {missing}", file=sys.stderr)
        sys.exit(CANNOT_BUILD)
