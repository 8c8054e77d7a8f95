"""The local node: pods as processes of this machine. `muster.local.node.agent` describes what that means."""

from muster.local.node.agent import AgentError, NodeAgent
from muster.local.node.isolation.levels import Isolation, choose_isolation

__all__ = ["AgentError", "Isolation", "NodeAgent", "choose_isolation"]
