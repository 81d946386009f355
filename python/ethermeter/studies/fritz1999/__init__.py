"""Fritz, Gigabit choke points, Network World, 1999."""
