"""``python -m muster.cli`` is ``muster``."""

from muster.cli.main import main

if __name__ == "__main__":
    main()
