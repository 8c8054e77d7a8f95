"""Programs that tests need and package indexes do not have, built once into a cache; and the tests of ``tools``."""
