"""The pods of the node: one worker per pod, its sandbox, and the status that it reports.

`assigned_pods` starts the workers, and reports pods of an earlier run of the agent.
"""
