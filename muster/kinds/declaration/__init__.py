"""Declarations: of an operator, of a kind that Muster runs, of a kind that it watches over."""
