"""The engine that creates and deletes pods itself."""
