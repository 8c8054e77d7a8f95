"""The local node: pods as processes of this machine. `muster.local.node.agent` tells what that means and for whom it
is.
"""

from muster.local.node.agent import AgentError, NodeAgent
from muster.local.node.isolation.levels import Isolation, choose_isolation

__all__ = ["AgentError", "Isolation", "NodeAgent", "choose_isolation"]
