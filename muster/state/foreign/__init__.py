"""Foreign kinds: objects of other controllers' APIs whose plan, record and own status Muster keeps."""
