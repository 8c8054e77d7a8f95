"""Last output of a program: its exception, how a launcher's processes ended, lines without meaning."""
