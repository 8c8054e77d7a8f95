"""The roll call of an experiment as one document, which page, SDK and command line read."""
