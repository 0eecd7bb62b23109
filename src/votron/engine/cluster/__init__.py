"""Training on rows that are spread over several workers, with the record of one machine."""

from votron.engine.cluster.messages import Numbers
from votron.engine.cluster.shard import Shard
from votron.engine.cluster.walk import Account, ClusterRun, Presented

__all__ = ["Account", "ClusterRun", "Numbers", "Presented", "Shard"]
