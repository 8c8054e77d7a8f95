"""The launcher: a small single-threaded process that forks one init process per pod.

The agent's process must not fork (asyncio, threads, a large heap), and a Python interpreter per pod would need 10 MB
each. So the agent starts one launcher, which imports little and forks; a pod's init process shares nearly all of its
memory pages.

No process outlives the agent: the launcher ends when its socket to the agent closes, a pod's init process when its own
socket closes or the launcher dies (PR_SET_PDEATHSIG); the kernel then kills everything in the pid namespace.
"""
