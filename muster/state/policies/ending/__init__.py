"""How an experiment ends, is suspended or deleted, and what becomes of its pods and its object."""
