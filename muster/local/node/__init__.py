"""The node of a local cluster: a kubelet and a scheduler for one machine, whose containers are processes.

`agent` starts it; `pods/` runs pods, `containers/` their containers, `isolation/` and `launcher/` their processes.
"""

from muster.local.node.agent import AgentError, NodeAgent
from muster.local.node.isolation.levels import Isolation, choose_isolation

__all__ = ["AgentError", "Isolation", "NodeAgent", "choose_isolation"]
