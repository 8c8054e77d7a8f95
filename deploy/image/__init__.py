"""What the image is built from: the versions and hashes of every package, and the script that builds it."""
