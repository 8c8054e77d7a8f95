"""Style of the lines of an explanation on a terminal."""

import click

from muster.client.explaining.style import Style

TERMINAL = Style(lambda text, colour: click.style(text, fg=colour), None)
"""In colours, with times of day in the zone of this machine."""
