"""The frameworks that examples run with: what `make frameworks` installs, and where tests find it."""
