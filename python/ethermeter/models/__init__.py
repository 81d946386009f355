"""Models by name, of theory and of voice: what each takes, and what it gives for given values."""
