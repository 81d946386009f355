"""Layouts: what each answer consists of, as blocks for a page or a terminal."""
