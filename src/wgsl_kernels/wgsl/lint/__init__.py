"""What a compiler takes and a driver, a browser or another GPU does not: lint over the tree."""
