"""The plugin for kubectl as krew installs it: a launcher, and the manifest of its archive."""
