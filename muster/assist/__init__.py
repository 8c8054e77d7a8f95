"""What is mounted in the members of an experiment with ``spec.assist``, and how it gets there.

The code is an annotation of the pod, and a downwardAPI volume shows it as a file: that needs no right, no image and no
object beside the pod (ADR 54).
"""

from pathlib import Path
from typing import Final

CODE: Final = (Path(__file__).parent / "mounted" / "sitecustomize.py").read_text(encoding="utf-8")
"""The module that Python imports before the program of a member."""
FILE: Final = "sitecustomize.py"
FOLDER: Final = "/opt/muster-assist"
"""Where it is mounted."""
STACKS: Final = "muster-stacks-"
"""Beginning of the name of the open file to which a process writes its stacks; its main thread follows, in hex."""
