"""Elements at indices: taken, replaced, sorted, counted, added by segments."""
