"""Incidents: runs that are stuck because of one subject, such as a node, a registry or a webhook."""
