"""Checks of ``muster doctor``, one file per subject.

``machine`` is this machine, ``server`` the API server, ``rights`` what the caller may do there, and what musterd may do
with runs of other controllers, ``daemon`` musterd and how it sees the pods, ``monitoring`` its metrics and what members
send to it. Each yields its ``Check``s. Nothing is changed anywhere.
"""
