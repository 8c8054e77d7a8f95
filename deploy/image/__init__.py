"""Sources of the image: the versions and hashes of every package, and the script that builds it."""
