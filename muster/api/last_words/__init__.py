"""What a program printed at its end: its exception, how a launcher's processes ended, lines without meaning."""
