"""Measures Postern against what else could do its work."""
