"""Lists and watches: reflector, decoder, store, informer."""
