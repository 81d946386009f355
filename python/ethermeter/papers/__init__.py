"""Papers: one module a study, with its published numbers and what a run says about them."""
