"""Reading YAML: text to a tree with lines and columns, and the values of unquoted scalars."""
