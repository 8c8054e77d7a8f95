"""The launcher: a small single-threaded process that forks one init process per pod.

The asyncio process must not fork (threads, gRPC, a large heap), and one Python interpreter per pod would cost 10 MB
each. So the node agent starts one launcher, which imports little and forks; a pod's init shares nearly all its pages
with it.

Nothing here outlives the agent: the launcher ends when its socket to the agent closes, a pod's init when its own socket
closes or the launcher dies (PR_SET_PDEATHSIG), and with a pod's init the kernel kills everything in its pid namespace.
"""
