"""``python -m tests.messages``: print the golden file, which ``messages.golden`` keeps. Takes half a minute."""

import sys

from tests.messages.collected import everything, golden

sys.stdout.write(golden(everything({})))
