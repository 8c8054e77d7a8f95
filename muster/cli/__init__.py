"""The ``muster`` command.

``main`` holds the command group, ``commands/`` one file per verb, ``terminal/`` what is drawn on a screen, and
``processes/`` the programs that ``muster run`` and ``muster local up`` start. Results go to standard output, messages
to standard error; the exit statuses are in ``exits``.
"""
