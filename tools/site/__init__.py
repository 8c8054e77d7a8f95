"""The documents as a site with search, built from the same files that the forge shows."""
