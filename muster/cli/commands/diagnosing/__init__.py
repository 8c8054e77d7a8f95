"""``muster diagnose``: the roll call of one run, without a musterd."""
