"""Lists and watches: reflector, decoder, store, back-off."""
