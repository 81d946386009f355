"""Limits that are found: values, calls, rates, the stage that is one, and what stages can do."""
