"""The pod network: address pools, the bridge of network namespaces, and names through hosts files.

There is no cluster DNS and no service proxy.
"""
