"""One folder per framework, one declaration per kind: all that is special about it. ``muster.state`` knows no kind."""
