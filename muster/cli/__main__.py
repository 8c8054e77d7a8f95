"""``python -m muster.cli`` is ``muster``."""

from muster.cli import main

if __name__ == "__main__":
    main()
