"""Replace names by addresses before a container starts, where nothing can make the names resolve.

Only env values, command and args can be rewritten. The address of a pod that does not exist yet is reserved when its
name is first found, so that workers can start before their coordinator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from muster.local.node.network.hosts_entries import DOMAIN

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"


def rewrite(text: str, namespace: str, subdomains: Iterable[str], address_of: Callable[[str], str]) -> str:
    """`text` with every name of a pod replaced by `address_of("host.sub")`.

    A name is `<hostname>.<subdomain>[.<namespace>[.svc[.cluster.local]]]`.
    """
    for subdomain in subdomains:
        suffix = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.{re.escape(DOMAIN.removeprefix('svc.'))})?)?)?"
        pattern = rf"(?<![A-Za-z0-9.-])({_LABEL})\.{re.escape(subdomain)}{suffix}(?![A-Za-z0-9-]|\.[A-Za-z0-9])"

        def address(match: re.Match[str], subdomain: str = subdomain) -> str:
            return address_of(f"{match.group(1)}.{subdomain}")

        text = re.sub(pattern, address, text)
    return text
