"""Incidents: runs that are stuck for one cause with one subject, such as a node, a registry or a webhook."""
