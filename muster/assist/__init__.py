"""The files that are mounted in the members of an experiment with ``spec.assist``, and how they get there.

Each file is an annotation of the pod, and a downwardAPI volume shows them: that needs no right, no image and no object
beside the pod (ADR 54).
"""

from pathlib import Path
from typing import Final

FILE: Final = "sitecustomize.py"
CODE: Final = (Path(__file__).parent / "mounted" / FILE).read_text(encoding="utf-8")
"""The module that Python imports before the program of a member."""
RECORDER_FILE: Final = "torch_recorder.py"
RECORDER_CODE: Final = (Path(__file__).parent / "mounted" / RECORDER_FILE).read_text(encoding="utf-8")
"""The module that the first one runs once the program has imported torch.distributed."""
WATCH_FILE: Final = "place_watch.py"
WATCH_CODE: Final = (Path(__file__).parent / "mounted" / WATCH_FILE).read_text(encoding="utf-8")
"""The module that it runs once the program has imported jax, and the recorder runs in a gang of torch."""
WORK_FILE: Final = "at_work.py"
WORK_CODE: Final = (Path(__file__).parent / "mounted" / WORK_FILE).read_text(encoding="utf-8")
"""The module that both of these use to see whether a process works."""
FOLDER: Final = "/opt/muster-assist"
"""The folder where they are mounted."""
STACKS: Final = "muster-stacks-"
"""Beginning of the name of the open file to which a process writes its stacks; its main thread follows, in hex."""
