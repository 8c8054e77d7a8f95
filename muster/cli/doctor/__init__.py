"""Checks of ``muster doctor``, one file per subject.

``machine`` is this machine, ``server`` the API server, ``rights`` what the caller may do there, ``daemon`` musterd and
how it sees the pods, ``monitoring`` its metrics, ``progress`` what members send to it, ``watched`` the rights for runs
of other controllers. Each check yields ``Finding``s. Nothing is changed anywhere.
"""
