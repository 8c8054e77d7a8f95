"""The four patch types, and the field ownership that server-side apply keeps.

They change plain dictionaries and neither read nor write stored objects.
"""
