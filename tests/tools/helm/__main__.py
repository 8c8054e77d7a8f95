"""Build helm, and print where it is. Exit status 3 if this machine cannot build it."""

import sys

from tests.tools.go_tool import CannotBuild
from tests.tools.helm import HELM

try:
    print(HELM.path())
except CannotBuild as missing:
    print(missing, file=sys.stderr)
    sys.exit(3)
