"""Every declaration that is found: the operators, the kinds that Muster runs, and those it watches over."""
