"""Pods as flat records."""
