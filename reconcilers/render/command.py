"""The command of a member, so that the shell gets what the researcher wrote.

AIchor's ``spec.command`` is one shell line (its manifests use ``&&``, pipes and ``$VARIABLES``), so it is handed to
``/bin/sh -c``: the one shell that every image with a shell has. Splitting the line ourselves
would need a second, subtly different shell.

Before a container starts, the kubelet rewrites its command (kubernetes:
third_party/forked/golang/expansion/expand.go): ``$(NAME)`` becomes the value of a variable of the container and stays
as it is where there is no such variable; ``$$`` becomes ``$``; and a ``$`` before a character beyond ASCII breaks
that character. The first is documented and useful (``--coordinator $(JAXOPERATOR_COORDINATOR_ADDRESS)`` works as it
does on AIchor) and is kept. The other two would silently turn ``echo $$ > pid`` into ``echo $ > pid``; a doubled
``$`` undoes them.
"""

import re

# The kubelet looks for the first ")" after "$(" and leaves what is between alone, so nothing in there may be doubled.
_REWRITTEN = re.compile(r"(\$\([^)]*\))|\$(\$|(?=[^\x00-\x7f]))")


def shell(line: str) -> list[str]:
    """The container command that runs ``line`` as it was written, but for ``$(NAME)`` of injected variables."""
    return ["/bin/sh", "-c", _REWRITTEN.sub(lambda found: found[1] or "$$" + 2 * found[2], line)]
