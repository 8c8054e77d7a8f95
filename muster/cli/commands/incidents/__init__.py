"""``muster incidents``: what keeps several runs at once."""
