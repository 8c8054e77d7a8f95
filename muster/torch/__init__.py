"""The functions for PyTorch programs: ``from muster.torch import pause, report``, the same as those of ``muster``.

The reports go to the TCPStore of the default process group, which Muster asks anyway who has joined
(``muster.torch.reporting``). Only the standard library is imported, and torch is found if the program has imported it.
The daemon never imports this package.
"""

from muster import pause, report

__all__ = ["pause", "report"]
