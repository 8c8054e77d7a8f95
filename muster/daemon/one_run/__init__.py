"""One run, watched in the process of a command by musterd's own rules and without any write."""
