"""Renderers: what an answer consists of, as text."""
