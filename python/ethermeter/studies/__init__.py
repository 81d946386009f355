"""Studies: one folder each, with its experiments, its published numbers and how they are judged."""
